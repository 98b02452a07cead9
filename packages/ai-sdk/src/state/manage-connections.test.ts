import { generateText, isStepCount } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { startAgent } from "../../test/agent-session.ts";
import { sendText } from "../../test/http-server.ts";
import { on, startNotebookServer } from "../../test/notebook-server.ts";
import { slotsOf, startSaved } from "../../test/saved-session.ts";
import { scriptedModel, toolResults } from "../../test/scripted-model.ts";
import { alice, bob, callForText, startApplication } from "../../test/step.ts";
import { createConnectionProvider, defineMcpClientConnection } from "../index.ts";

const principal = alice;
const ofNotebook = {
  protocolVersion: "2025-11-25",
  server: { name: "notebook", version: "1.0.0" },
};

let saved: Awaited<ReturnType<typeof startSaved>>;
beforeEach(async () => {
  saved = await startSaved();
});

describe("the sessions in a state", () => {
  test("are described, without an id and without a request", async () => {
    const { application, session, server } = saved;
    const [info, ...others] = await application.provider.info(session, { principal });
    expect(others).toEqual([]);
    expect(info).toMatchObject({ connection: "notes", kind: "session", ...ofNotebook });
    expect(info?.tools?.count).toBe(4);
    expect(JSON.stringify(info)).not.toContain(server.sessionIds[0]);
    expect(server.requests).toEqual([]);
    expect(await application.provider.info(session, { principal: bob })).toEqual([]);
    expect(await application.provider.info({}, { principal })).toEqual([]);
  });

  test("are alive until the server has lost them, and are not replaced by asking", async () => {
    const { application, session, server } = saved;
    const status = () => application.provider.status(session, { principal });
    expect(await status()).toEqual([{ connection: "notes", alive: true }]);
    server.forgetSessions();
    expect(await status()).toEqual([
      { connection: "notes", alive: false, reason: "lost", status: 404 },
    ]);
    server.intercept(() => undefined);
    const { provider } = application;
    expect(await provider.status(session, { principal, timeoutMs: 20 })).toMatchObject([
      { reason: "timeout" },
    ]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("are restarted: the next step has an empty one, and the model is told", async () => {
    const { application, session, server } = saved;
    const before = JSON.stringify(session);
    const { session: after, results } = await application.provider.restart(session, { principal });
    expect(results).toEqual([{ connection: "notes", ended: true, status: 200 }]);
    expect(JSON.stringify(session)).toBe(before);
    expect(server.liveSessions()).toBe(0);
    expect(await application.provider.info(after, { principal })).toEqual([
      { connection: "notes", kind: "lost" },
    ]);
    expect(await application.provider.status(after, { principal })).toMatchObject([
      { reason: "no-session" },
    ]);
    application.takeEvents();
    await application.step(after, async (registry) => {
      const text = await callForText(await registry.tools(), "notes__list_notes");
      expect(text).not.toContain("milk");
    });
    expect(application.takeEvents()).toEqual(["recovered"]);
  });

  test("are restarted though the server does not end them", async () => {
    const { application, session, server } = saved;
    server.intercept(on("DELETE", (_, response) => sendText(response, 503)));
    const { session: after, results } = await application.provider.restart(session, { principal });
    expect(results).toMatchObject([{ ended: false, reason: "refused", status: 503 }]);
    expect(Object.values(slotsOf(after))).toMatchObject([{ kind: "sessionless", lost: {} }]);
  });

  test("list their tools anew when the list was cleared", async () => {
    const { application, session, server } = saved;
    const after = await application.provider.clearTools(session, { principal });
    expect(after).not.toBe(session);
    expect(await application.provider.clearTools(after, { principal })).toBe(after);
    await application.step(after, (registry) => registry.tools());
    expect(server.log).toEqual(["POST tools/list"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("do not have to parse", async () => {
    const { application, server } = saved;
    const key = Object.keys(slotsOf(saved.session))[0]!;
    const broken = { state: { mcpSessions: { [key]: { version: 1, kind: "no" } }, own: 1 } };
    const newer = { state: { mcpSessions: { [key]: { version: 2 } } } };
    const { provider } = application;
    expect(await provider.info(broken, { principal })).toMatchObject([{ kind: "invalid" }]);
    expect(await provider.info(newer, { principal })).toMatchObject([{ kind: "newer" }]);
    expect(await provider.restart(newer, { principal })).toEqual({
      session: newer,
      results: [{ connection: "notes", ended: false, reason: "newer" }],
    });
    const { session } = await provider.restart(broken, { principal });
    expect(session.state).toMatchObject({
      mcpSessions: { [key]: { kind: "sessionless", lost: {} } },
      own: 1,
    });
    expect(server.requests).toEqual([]);
  });

  test("of another URL get no request", async () => {
    const { session, server } = saved;
    const notes = defineMcpClientConnection({
      url: `${server.origin}/other`,
      description: "Another.",
      session: "stateful",
    });
    const provider = createConnectionProvider({ connections: { notes } });
    expect(await provider.status(session, { principal })).toMatchObject([{ alive: false }]);
    const { results } = await provider.restart(session, { principal });
    expect(results).toEqual([{ connection: "notes", ended: false, reason: "undeclared" }]);
    expect(server.requests).toEqual([]);
  });

  test.each(["info", "status", "restart", "clearTools"] as const)(
    "%s needs a principal and a declared connection",
    async (method) => {
      const { provider } = saved.application;
      const act = provider[method] as (session: object, selection: object) => Promise<unknown>;
      await expect(act({}, {})).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
      await expect(act({}, { principal, connection: "x" })).rejects.toMatchObject({
        code: "CONNECTION_INVALID",
      });
    },
  );
});

test("named sessions are described, asked and restarted under their names", async () => {
  const { step, session, provider, server, pass } = await startAgent("state");
  await step(async ({ named }) => {
    await named.create("research", { connections: ["notes"], idleTimeoutMs: 900_000 });
    await named.run("research", (own) => own.call("notes", "add_note", { text: "milk" }));
  });
  const application = provider();
  const only = { principal, name: "research" };
  const [info] = await application.info(session(), only);
  expect(info).toMatchObject({ name: "research", kind: "session", idleTimeoutMs: 900_000 });
  expect(info?.lastUsedAt).toEqual(expect.any(Number));
  expect(info?.startedAt).toEqual(expect.any(Number));
  expect(await application.status(session(), only)).toEqual([
    { connection: "notes", name: "research", alive: true },
  ]);
  pass(1);
  const cleared = await application.clearTools(session(), only);
  const { session: after, results } = await application.restart(cleared, only);
  expect(results).toMatchObject([{ name: "research", ended: true }]);
  expect(server.liveSessions()).toBe(0);
  const described = await application.info(after, only);
  expect(described).toEqual([
    {
      connection: "notes",
      name: "research",
      kind: "lost",
      lastUsedAt: info?.lastUsedAt,
      idleTimeoutMs: 900_000,
    },
  ]);
  const registry = application.create({ ...after, principal });
  await registry.named.run("research", async (own) => {
    expect(await callForText(await own.tools(), "notes__list_notes")).not.toContain("milk");
  });
  await application.shutdown();
});

test("of a server without sessions a restart forgets that, and tells of no loss", async () => {
  const server = await startNotebookServer({ isSessionless: true });
  const notes = defineMcpClientConnection({
    ...{ url: server.url, description: "A notebook.", session: "stateful" },
  });
  const { provider, step } = startApplication({ notes });
  const session = await step({}, (registry) => registry.tools());
  expect(await provider.info(session, { principal: alice })).toMatchObject([
    { kind: "sessionless" },
  ]);
  const restarted = await provider.restart(session, { principal: alice });
  expect(restarted.results).toEqual([{ connection: "notes", ended: true }]);
  expect(await provider.info(restarted.session, { principal: alice })).toEqual([]);
  await step(restarted.session, async (registry) => {
    const tools = await registry.tools();
    const model = scriptedModel([{ tool: "notes__list_notes" }], "done");
    await generateText({ model, tools, prompt: "Go.", stopWhen: isStepCount(2) });
    expect(toolResults(model)).toEqual([""]);
  });
});
