/** Looking after what is kept of servers without sessions. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { backends, startAgent } from "../agent-session.ts";
import { collectEvents } from "../collect-events.ts";
import { startModernServer } from "../../../sessions/test/modern-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, callForText, startApplication } from "../step.ts";
import {
  type ConnectionRun,
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  withConnections,
} from "../../src/index.ts";

const caching = { ttlMs: 60_000 };
const key = '["one","user","https://idp.test","alice"]';

const define = (url: string, options: Partial<McpClientConnectionOptions> = { memory: "server" }) =>
  defineMcpClientConnection({ url, description: "A server.", ...options });
const greet = async (registry: ConnectionRun<any>) =>
  await callForText(await registry.tools(), "one__greet");

const listNotes = async (registry: ConnectionRun<any>) =>
  await callForText(await registry.tools(), "one__list_notes");
const asAlice = () => ({ principal: alice });

/** Sessions of a process, on a store that counts what is done with it. */
function startStored(url: string, options?: Partial<McpClientConnectionOptions>) {
  const { onEvent, ...collected } = collectEvents();
  const store = createMemoryStore();
  const counts = { get: 0, put: 0, touch: 0 };
  const counted = {
    ...store,
    get: (...of: Parameters<typeof store.get>) => (counts.get++, store.get(...of)),
    put: (...of: Parameters<typeof store.put>) => (counts.put++, store.put(...of)),
    touch: (...of: Parameters<typeof store.touch>) => (counts.touch++, store.touch(...of)),
  };
  const processOf = (own = options, now = Date.now) =>
    createDurableSessions({
      now,
      connections: { one: define(url, own) },
      store: counted,
      onEvent,
    });
  const sessions = processOf();
  const step = (of = sessions) =>
    of.run("chat", { principal: alice }, async (run) =>
      callForText(await run.tools(), "one__greet"),
    );
  return { ...collected, sessions, step, processOf, store, counts };
}

describe.each(backends)("in %s", (backend) => {
  async function start() {
    const server = await startModernServer({ caching });
    const agent = startAgent(backend, { one: define(server.url) });
    await agent.step(greet);
    server.requests.length = 0;
    return { server, ...agent };
  }

  test("it is described, and is no session that could be asked", async () => {
    const { list, status, server } = await start();
    const [described, ...others] = await list();
    expect(others).toEqual([]);
    expect(described).toMatchObject({
      ...{ connection: "one", kind: "remembered", protocolVersion: "2026-07-28" },
    });
    const none = { connection: "one", alive: false, reason: "no-session" };
    expect(await status()).toEqual([none]);
    expect(server.log).toEqual([]);
  });

  test("clearTools drops the list, and not what is known of the server", async () => {
    const { clearTools, list, step, server } = await start();
    await clearTools();
    expect(await list()).toMatchObject([{ kind: "remembered", protocolVersion: "2026-07-28" }]);
    await step(greet);
    expect(server.log).toEqual(["POST tools/list", "POST tools/call"]);
  });

  test.each(["restart", "end"] as const)("%s removes it", async (act) => {
    const { server, list, step, [act]: remove } = await start();
    expect(await remove()).toEqual([{ connection: "one", ended: true, removed: true }]);
    expect(await list()).toEqual([]);
    expect(server.log).toEqual([]);
    await step(greet);
    expect(server.log).toHaveLength(3);
  });
});

describe("in a store", () => {
  test("endAll removes it, and so does a sweep", async () => {
    const server = await startModernServer({ caching });
    const { step, sessions, processOf } = startStored(server.url);
    const removed = { connection: "one", ended: true, removed: true };
    await step();
    expect(await sessions.endAll({ principal: alice })).toMatchObject([removed]);
    await step(processOf());
    const later = processOf(undefined, () => Date.now() + 7_200_000);
    const swept = await later.admin.sweep({ idleForMs: 3_600_000, authorize: asAlice });
    expect(swept.sessions).toMatchObject([removed]);
  });

  test("a step reads once, and writes only what is new", async () => {
    const server = await startModernServer({ caching });
    const { step, processOf, counts } = startStored(server.url);
    await step();
    expect(counts).toEqual({ get: 1, put: 1, touch: 0 });
    await step(processOf());
    expect(counts).toEqual({ get: 2, put: 1, touch: 0 });
  });

  test("nothing is read for a connection without memory", async () => {
    const server = await startModernServer({ caching });
    const { step, counts } = startStored(server.url, {});
    await step();
    expect(counts).toEqual({ get: 0, put: 0, touch: 0 });
  });

  test("a definition that has no session any more ends the stored one, and remembers", async () => {
    const notebook = await startNotebookServer();
    const before = startStored(notebook.url, { session: "stateful" });
    const use = { principal: alice };
    await before.sessions.run("chat", use, async (run) =>
      callForText(await run.tools(), "one__list_notes"),
    );
    expect(notebook.liveSessions()).toBe(1);
    const after = before.processOf({ memory: "server" });
    await after.run("chat", use, (run) => run.tools());
    expect(notebook.liveSessions()).toBe(0);
    expect((await after.list({ ...use, sessionId: "chat" })).sessions).toEqual([]);
    // And back again.
    const server = await startModernServer({ caching });
    const remembering = startStored(server.url);
    await remembering.step();
    const stateful = remembering.processOf({ session: "stateful" });
    server.requests.length = 0;
    await remembering.step(stateful);
    expect(server.log[0]).toBe("POST initialize");
    expect((await stateful.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { kind: "stateless" },
    ]);
    const neither = remembering.processOf({});
    await remembering.step(neither);
    expect((await neither.list({ ...use, sessionId: "chat" })).sessions).toMatchObject([
      { kind: "stateless" },
    ]);
    const told = [...before.events, ...remembering.events].map(({ type }) => type);
    expect(told).not.toContain("discarded");
    expect(told).not.toContain("not-ended");
  });
});

describe("in carried state", () => {
  test("what another definition has left is dropped", async () => {
    const server = await startModernServer({ caching });
    const remembering = startApplication({ one: define(server.url) });
    const session = await remembering.step({}, greet);
    const stateful = startApplication({ one: define(server.url, { session: "stateful" }) });
    const registry = stateful.provider.create({ ...session, principal: alice });
    await registry.dispose();
    expect(stateful.provider.commit(registry, session)).toEqual({ state: {} });
    expect(stateful.events).toEqual([]);

    const kept = {
      state: {
        mcpSessions: { [key]: { version: 1, kind: "sessionless", url: server.url, lost: {} } },
      },
    };
    expect(await remembering.step(kept, () => undefined)).toEqual({ state: {} });
    expect(remembering.events).toEqual([]);
  });

  test("it needs a principal, as a session does", () => {
    const { provider } = startApplication({ one: define("https://one.example/mcp") });
    expect(() => provider.create({})).toThrow(
      expect.objectContaining({ code: "PRINCIPAL_REQUIRED" }),
    );
  });
});

/** A server, and a session of which a step has left what the server says. */
async function startRemembered(options?: Partial<McpClientConnectionOptions>) {
  const server = await startModernServer({ caching });
  const application = startApplication({ one: define(server.url, options) });
  const session = await application.step({}, greet);
  server.requests.length = 0;
  return { server, ...application, session };
}

describe("in a run", () => {
  test("it is told, and restarts and clears", async () => {
    const { server, step, session } = await startRemembered();
    await step(session, async (registry) => {
      expect(await registry.info()).toMatchObject([{ session: "stateless", kind: "remembered" }]);
      await greet(registry);
      await registry.clearTools("one");
      await greet(registry);
      expect(server.log).toEqual(["POST tools/call", "POST tools/list", "POST tools/call"]);
      server.requests.length = 0;
      expect(await registry.restart("one")).toEqual({ connection: "one", ended: true });
      await greet(registry);
      expect(server.log).toEqual(["POST server/discover", "POST tools/list", "POST tools/call"]);
    });
  });

  test("nothing of it lasts under a name, and a run that isolates it begins with it", async () => {
    const { server, provider, session } = await startRemembered();
    const run = { session, principal: alice };
    await provider.run(run, async (own) => {
      await withConnections({ one: "isolate" }, (isolated: ConnectionRun<any>) => greet(isolated));
      expect(server.log).toEqual(["POST tools/call"]);
      const named = own.named.run("a", () => undefined);
      await expect(named).rejects.toMatchObject({ code: "CONNECTION_INVALID" });
    });
  });

  test("whoever wants to know whether the server is there asks it", async () => {
    const { server, step, session } = await startRemembered({ memory: "server", required: true });
    await step(session, greet);
    expect(server.log).toEqual(["POST server/discover", "POST tools/call"]);
    await step(session, async (registry) => {
      await registry.tools();
      server.requests.length = 0;
      await registry.ready("one");
      expect(await registry.status()).toMatchObject([{ alive: true }]);
      expect(server.log).toEqual(["POST server/discover", "POST server/discover"]);
      await server.close();
      expect(await registry.status()).toMatchObject([{ alive: false, reason: "unreachable" }]);
    });
    await expect(step(session, (registry) => registry.tools())).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
  });

  test("a server of the session era is asked with a ping", async () => {
    const notebook = await startNotebookServer({ isSessionless: true });
    for (const options of [{ memory: "server" }, { session: "stateful" }] as const) {
      const { step } = startApplication({
        one: define(notebook.url, { ...options, required: true }),
      });
      const session = await step({}, listNotes);
      notebook.requests.length = 0;
      await step(session, listNotes);
      expect(notebook.log).toEqual(["POST ping", "POST tools/call"]);
    }
  });
});

test.each<[unknown, RegExp]>([
  ["client", /memory must be "server" or \{ pinMs/],
  [{ pinMs: 0 }, /memory\.pinMs must be a whole number of milliseconds/],
  [{ pinMs: 1, ttlMs: 1 }, /memory\.ttlMs is not a known option/],
])("the option %j is refused", (memory, message) => {
  const options = { url: "https://one.example/mcp", description: "One.", memory };
  expect(() => defineMcpClientConnection(options as never)).toThrow(message);
});
