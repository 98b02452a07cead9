/** Connections that are declared here, with clients of the official SDK. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test, vi } from "vitest";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { answer, on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { startSseServer } from "../../../sessions/test/sse-server.ts";
import { call, input, saying } from "../../test/notebook-agent.ts";
import {
  createDurableSessions as createForAiSdk,
  defineMcpClientConnection as defineForAiSdk,
} from "@durable-mcp/ai-sdk";
import { asSchema, type Tool } from "ai";
import { createAgent } from "langchain";
import {
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
  fromMcpServers,
  loadSessionTools,
  type McpClientConnectionOptions,
} from "../index.ts";
import { sessionToolsMiddleware } from "../middleware.ts";
import { defineMcpStdioConnection, fromMcpServers as fromAnyServers } from "../stdio.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;

/** Steps of one agent session, with the types of their events. */
function startSteps(connections: Parameters<typeof createConnectionProvider>[0]["connections"]) {
  const events: string[] = [];
  const onEvent = { every: ({ type }: { type: string }) => void events.push(type) };
  const sessions = createDurableSessions({ connections, store: createMemoryStore(), onEvent });
  const step = <T>(use: (run: ConnectionRun) => Promise<T>) =>
    sessions.run("chat", { principal }, use);
  return { events, step, sessions };
}

const define = (url: string, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "A server.", ...options });

const defineWithAiSdk: typeof define = (url) =>
  defineForAiSdk({ url, description: "A server.", session: "stateful" });

const createNotesAgent = () =>
  createAgent({
    model: saying([{ name: "notes__add_note", args: { text: "a" }, id: "call" }]),
    middleware: [sessionToolsMiddleware()],
  });

const acceptAsAda: McpClientConnectionOptions["onElicitation"] = ({ params }) => ({
  action: "accept",
  content: { name: params.message === "What is your name?" ? "Ada" : "" },
});

describe("a connection declared here", () => {
  test("keeps one session over the steps of an agent", async () => {
    const server = await startNotebookServer();
    const { step } = startSteps({ notes: define(server.url, { session: "stateful" }) });
    await step(() => createNotesAgent().invoke(input));
    server.requests.length = 0;
    await step(() => createNotesAgent().invoke(input));
    expect(server.log).toEqual(["POST tools/call"]);
    const client = await step((run) => run.client("notes"));
    expect(client.initializeResult).toMatchObject({
      protocolVersion: "2025-11-25",
      capabilities: { tools: expect.anything() as unknown },
      serverInfo: { name: expect.any(String) as unknown },
    });
  });

  test("lists, calls and reads with the run's client", async () => {
    const setUp: Parameters<typeof startNotebookServer>[0] = {
      instructions: "Take notes.",
      setUp(mcp) {
        mcp.registerTool("add_note", {}, () => answer("added"));
        mcp.registerResource("motto", "note://motto", {}, () => ({
          contents: [{ uri: "note://motto", text: "Onward." }],
        }));
      },
    };
    const server = await startNotebookServer(setUp);
    const { step } = startSteps({ notes: define(server.url) });
    await step(async (run) => {
      const client = await run.client("notes");
      expect(await run.instructions()).toEqual({ notes: "Take notes." });
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain("add_note");
      expect(await client.readResource({ uri: "note://motto" })).toMatchObject({
        contents: [{ text: "Onward." }],
      });
      expect(await run.call("notes", "add_note", { text: "a" })).toMatchObject({
        content: [{ type: "text" }],
      });
    });
    // Of a stateless connection the session is the client's own, and ends with it.
    expect(server.log.at(-1)).toBe("DELETE");
    expect(server.liveSessions()).toBe(0);
  });

  test("falls back to a server that only knows HTTP+SSE", async () => {
    const server = await startSseServer(405);
    const { step, events } = startSteps({ old: define(server.url) });
    const greeted = await step(async (run) => {
      const { initializeResult } = await run.client("old");
      expect(initializeResult.protocolVersion).toMatch(/^\d{4}-/);
      return await call(await loadSessionTools(run), "old__greet");
    });
    expect(greeted.content).toBe("hello");
    expect(events).toContain("sse-fallback");
  });

  test("answers a server that asks, with onElicitation", async () => {
    const server = await startNotebookServer({
      setUp: (mcp) =>
        void mcp.registerTool("greet", {}, async () => {
          const { action, content } = await mcp.server.elicitInput({
            message: "What is your name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          });
          return answer(`${action}: ${String(content?.["name"])}`);
        }),
    });
    const { step } = startSteps({
      hello: define(server.url, { session: "stateful", onElicitation: acceptAsAda }),
    });
    await step(async (run) => {
      await run.client("hello");
      await vi.waitFor(() => expect(server.log).toContain("GET"));
      expect(await call(await loadSessionTools(run), "hello__greet")).toMatchObject({
        content: "accept: Ada",
      });
    });
  });

  test("replaces a session that the server has forgotten", async () => {
    const server = await startNotebookServer();
    const { step, events } = startSteps({ notes: define(server.url, { session: "stateful" }) });
    const add = () => step((run) => run.call("notes", "add_note", { text: "a" }));
    await add();
    server.forgetSessions();
    await add();
    expect(events).toContain("recovered");
  });

  test.each<[string, Parameters<typeof on>[1]]>([
    ["a status", (_, response) => void response.writeHead(500).end("The disk is full.")],
    ["a refused token", (_, response) => void response.writeHead(401).end()],
    ["no answer", (_, response) => void response.destroy()],
    [
      "its own error",
      ({ message }, response) => {
        const error = { code: -32_602, message: "No such note.", data: { note: 1 } };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
      },
    ],
  ])("fails with %s as one with the client of AI SDK", async (_, handler) => {
    const failures = [define, defineWithAiSdk].map(async (definer) => {
      const server = await startNotebookServer();
      server.intercept(on("tools/call", handler));
      const { step } = startSteps({ notes: definer(server.url, { session: "stateful" }) });
      const error: any = await step((run) => run.call("notes", "add_note", { text: "a" })).catch(
        (thrown: unknown) => thrown,
      );
      const { name, code, data = {} } = error;
      const message = String(error.message)
        .replace(/^.*-32602: /, "")
        .replaceAll(server.origin, "");
      return [
        message,
        name === "McpSessionError",
        code,
        { ...data, origin: undefined },
        server.log,
      ];
    });
    const [own, other] = await Promise.all(failures);
    expect(own).toEqual(other);
    expect(own![1] || own![2] === -32_602).toBe(true);
  });

  test("does not reach a server that only speaks a later revision, and says so", async () => {
    const server = await startModernServer();
    const { step } = startSteps({ modern: define(server.url) });
    await expect(step((run) => run.client("modern"))).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { connection: "modern" },
    });
  });
});

test("tools of AI SDK are made of it, too", async () => {
  const server = await startNotebookServer();
  const connections = { notes: define(server.url) };
  const sessions = createForAiSdk({ connections, store: createMemoryStore() });
  await sessions.run("chat", { principal }, async (run) => {
    const tools = await run.tools({ onUnavailable: "throw" });
    const { execute, inputSchema, toModelOutput } = tools["notes__add_note"] as Tool;
    expect(await asSchema(inputSchema).jsonSchema).toMatchObject({
      ...{ properties: { text: { type: "string" } }, additionalProperties: false },
    });
    const given = { text: "a" };
    const output = await execute!(given, { toolCallId: "1", messages: [] } as never);
    expect(await toModelOutput!({ toolCallId: "1", input: given, output })).toEqual({
      type: "content",
      value: [{ type: "text", text: "1 notes" }],
    });
    expect(await loadSessionTools(run)).not.toEqual([]);
  });
});

test("a program has one process for each run", async () => {
  const echo = defineMcpStdioConnection({ ...describingProgram(), description: "Describes." });
  const { step, events } = startSteps({ echo });
  await step(async (run) => {
    const described = await call(await loadSessionTools(run), "echo__describe", { a: 1 });
    expect(JSON.parse(described.content as string)).toMatchObject({
      clientInfo: { name: "durable-mcp" },
      input: { a: 1 },
    });
    const { initializeResult } = await run.client("echo");
    expect(initializeResult.protocolVersion).toMatch(/^2025-/);
  });
  expect(events.filter((type) => type === "started")).toHaveLength(1);
});

test("a configuration declares servers, and with /stdio programs", async () => {
  const { url } = await startNotebookServer();
  const mcpServers = { notes: { url }, echo: describingProgram() };
  expect(() => fromMcpServers({ mcpServers })).toThrow("from the entry /stdio");
  const connections = fromAnyServers({ mcpServers });
  const provider = createConnectionProvider({ connections, onEvent: () => undefined });
  await using run = provider.create({ principal });
  const tools = await loadSessionTools(run);
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["notes__add_note", "echo__describe"]),
  );
});
