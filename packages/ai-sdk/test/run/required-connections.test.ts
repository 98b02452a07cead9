/** Connections that a step needs, and steps that begin without one. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test, vi } from "vitest";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { notebook, startNotes } from "../saved-session.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { alice, callForText, startApplication } from "../step.ts";
import { createDurableAgent } from "../../src/agent/durable-agent.ts";
import { createDurableAgentUIStreamResponse } from "../../src/agent/durable-agent-ui-stream.ts";
import { createDurableSessions, type McpClientConnectionOptions } from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

const isDown = { code: "CONNECTION_UNAVAILABLE", data: { connection: "notes" } };
const refuse = (server: NotebookServer) =>
  server.intercept((_, response) => void response.writeHead(503).end());

/** A notebook with a session and a tool list that an earlier step left in the state. */
async function startKept(options: Partial<McpClientConnectionOptions>) {
  const server = await startNotebookServer();
  const application = startApplication({ notes: notebook(server, options) });
  const { provider } = application;
  const begun = vi.fn<() => undefined>();
  const run = (session: { state?: unknown }, onUnavailable?: "throw" | "omit") =>
    provider.run({ session, principal: alice, onUnavailable }, async (own) => {
      begun();
      return await callForText(await own.tools(), "notes__list_notes");
    });
  const { session } = await run({});
  const fresh = [...server.log];
  server.requests.length = 0;
  begun.mockClear();
  return { server, session, fresh, run, begun, ...application };
}

describe("a required connection", () => {
  test("costs one request a step, and nothing where the server is asked anyway", async () => {
    const plain = await startKept({});
    const required = await startKept({ required: true });
    expect(required.fresh).toEqual(plain.fresh);
    await plain.run(plain.session);
    expect(plain.server.log).toEqual(["POST tools/call"]);
    await required.run(required.session);
    expect(required.server.log).toEqual(["POST ping", "POST tools/call"]);
  });

  test("is asked once a step, also by runs inside it", async () => {
    const { provider, session, server } = await startKept({ required: true });
    const { state } = session;
    const registry = provider.create({ state, principal: alice });
    await registry.enter(async () => {
      await Promise.all([registry.tools(), registry.tools(), registry.instructions()]);
      await registry.tools();
    });
    expect(server.log).toEqual(["POST ping"]);
  });

  test("that is down keeps the step from beginning, although its tool list is kept", async () => {
    const { run, session, server, begun, takeEvents } = await startKept({ required: true });
    refuse(server);
    const refused = { ...isDown, data: { connection: "notes", status: 503 } };
    takeEvents();
    await expect(run(session)).rejects.toMatchObject(refused);
    await expect(run(session, "omit")).rejects.toMatchObject(refused);
    await expect(run({})).rejects.toMatchObject(refused);
    expect(begun).not.toHaveBeenCalled();
    // One for each attempt: whoever watches the events sees it too.
    expect(takeEvents().filter((type) => type === "unavailable")).toHaveLength(3);
  });

  test("that hangs is given up after connectMs", async () => {
    const { session, server } = await startKept({});
    server.intercept(() => undefined);
    const { provider } = startApplication({
      notes: notebook(server, { required: true, timeouts: { connectMs: 100 } }),
    });
    const step = vi.fn<() => undefined>();
    await expect(provider.run({ session, principal: alice }, step)).rejects.toMatchObject(isDown);
    expect(step).not.toHaveBeenCalled();
  });

  test("whose session is lost gets another before the step begins", async () => {
    const { run, session, server, takeEvents } = await startKept({ required: true });
    server.forgetSessions();
    takeEvents();
    await run(session);
    expect(takeEvents()).toEqual(["resumed", "lost", "recovered"]);
    expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(1);
  });

  test("is tried again when the step is", async () => {
    const { provider, session, server } = await startKept({ required: true });
    const registry = provider.create({ state: session.state, principal: alice });
    refuse(server);
    await expect(registry.tools()).rejects.toMatchObject(isDown);
    server.intercept(() => "next");
    expect(Object.keys(await registry.tools())).toContain("notes__add_note");
    await registry.dispose();
  });

  test("without a session is asked with its handshake", async () => {
    const { server, provider } = await startNotes({ session: "stateless", required: true });
    refuse(server);
    const run = provider.run({ session: {} }, () => undefined);
    await expect(run).rejects.toMatchObject(isDown);
  });

  test("over stdio is asked with the start of its process", async () => {
    const notes = defineMcpStdioConnection({
      command: "/nowhere/notebook",
      description: "A notebook.",
      required: true,
    });
    const { provider } = startApplication({ notes } as any);
    const run = provider.run({ session: {} }, () => undefined);
    await expect(run).rejects.toMatchObject(isDown);
  });
});

/** Durable sessions of a notebook, with a session of the chat in the store. */
async function startSessions(options: Partial<McpClientConnectionOptions>) {
  const server = await startNotebookServer();
  const sessions = createDurableSessions({
    connections: { notes: notebook(server, options) },
    store: createMemoryStore(),
    onEvent: () => undefined,
  });
  const use = { principal: alice };
  await sessions.run("chat", use, () => undefined);
  server.requests.length = 0;
  return { server, sessions, use };
}

describe("before the model is paid", () => {
  const call = { sessionId: "chat", principal: alice };

  test("open and run reject", async () => {
    const { server, sessions, use } = await startSessions({ required: true });
    const lease = await sessions.open("chat", use);
    await lease.dispose();
    expect(server.log).toEqual(["POST ping"]);
    refuse(server);
    await expect(sessions.open("chat", use)).rejects.toMatchObject(isDown);
    const step = vi.fn<() => undefined>();
    await expect(sessions.run("chat", use, step)).rejects.toMatchObject(isDown);
    expect(step).not.toHaveBeenCalled();
    server.intercept(() => "next");
    await sessions.run("chat", use, step);
    expect(step).toHaveBeenCalledOnce();
    await sessions.shutdown();
  });

  test("calls of an agent reject", async () => {
    const { server, sessions } = await startSessions({ required: true });
    const model = scriptedModel("Done.");
    const agent = createDurableAgent({ sessions, model });
    refuse(server);
    const options = call;
    const prompt = "Hi";
    await expect(agent.open(call)).rejects.toMatchObject(isDown);
    await expect(agent.generate({ prompt, options })).rejects.toMatchObject(isDown);
    await expect(agent.stream({ prompt, options })).rejects.toMatchObject(isDown);
    const uiMessages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] }];
    const response = createDurableAgentUIStreamResponse({ agent, uiMessages, options });
    await expect(response).rejects.toMatchObject(isDown);
    expect([...model.doGenerateCalls, ...model.doStreamCalls]).toEqual([]);
  });

  test("onUnavailable: throw of an agent, of its call, and of open and run", async () => {
    const { server, sessions, use } = await startSessions({});
    await sessions.clearTools("chat", use);
    server.intercept(on("POST", (_, response) => void response.writeHead(503).end()));
    const model = scriptedModel("Done.");
    const strict = createDurableAgent({ sessions, model, onUnavailable: "throw" });
    const prompt = "Hi";
    await expect(strict.generate({ prompt, options: call })).rejects.toMatchObject(isDown);
    const agent = createDurableAgent({ sessions, model });
    const options = { ...call, onUnavailable: "throw" } as const;
    await expect(agent.generate({ prompt, options })).rejects.toMatchObject(isDown);
    await expect(sessions.open("chat", options as any)).rejects.toThrow("sessionId");
    const throwing = { ...use, onUnavailable: "throw" } as const;
    await expect(sessions.open("chat", throwing)).rejects.toMatchObject(isDown);
    await expect(sessions.run("chat", throwing, () => 1)).rejects.toMatchObject(isDown);
    expect(model.doGenerateCalls).toEqual([]);
    const lenient = { ...call, onUnavailable: "omit" } as const;
    expect((await strict.generate({ prompt, options: lenient })).text).toBe("Done.");
  });

  test("with a kept tool list nobody notices without required", async () => {
    const { run, session, server, begun } = await startKept({});
    refuse(server);
    await expect(run(session, "throw")).rejects.toBeDefined();
    expect(begun).toHaveBeenCalledOnce();
  });
});
