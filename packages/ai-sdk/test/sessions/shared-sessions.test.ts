/** One session under a chosen id, which all agent sessions of a principal use. */
import { createMemoryStore } from "@durable-mcp/core";
import type { SharedId } from "../../../sessions/src/records/session-reports.ts";
import { describe, expect, test } from "vitest";
import { add, isTold, list } from "../agent-session.ts";
import { bothStores, describedNotebook } from "../../../sessions/test/both-stores.ts";
import { type ProcessOptions, startProcess, startStored } from "../durable-process.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, openAndList } from "../step.ts";
import {
  createConnectionProvider,
  currentConnections,
  defineMcpClientConnection,
  withConnections,
} from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

const use = { principal: alice };
const hour = 3_600_000;
const inventory = { connection: "notes", shared: "inventory" };
const invalid = (field: string) => ({ code: "CONNECTION_INVALID", data: { field } });
/** The notes of the shared session, in a run inside. */
const listShared = (options?: object) =>
  withConnections({ notes: { shared: "inventory" } }, async (own) => await list(own), options);

/** A notebook that is shared by its definition. */
const startShared = async ({ shared, ...options }: ProcessOptions & { shared?: string } = {}) =>
  await startStored({ ...options, session: { ...options.session, shared: shared ?? "inventory" } });

describe("a shared session", () => {
  test("is made once by agent sessions that begin at once, and each gets its own answers", async () => {
    const { server, sessions, startAnother } = await startShared();
    const other = startAnother();
    const counts = await Promise.all(
      [sessions, other.sessions, sessions].map((each, index) =>
        each.run(`chat-${index}`, use, async (run) => {
          return Promise.all(Array.from({ length: 5 }, () => add(`${index}`)(run)));
        }),
      ),
    );
    const expected = Array.from({ length: 15 }, (_, index) => `${index + 1} notes`);
    expect(new Set(counts.flat())).toEqual(new Set(expected));
    expect(server.liveSessions()).toBe(1);
    for (const own of counts) expect(own).toHaveLength(5);
  });

  test("is found by other agent sessions, and by a process that begins later", async () => {
    const { server, sessions, events, startAnother } = await startShared();
    await sessions.run("chat-1", use, add("a"));
    await sessions.run("chat-2", use, add("b"));
    const later = startAnother();
    expect(await later.sessions.run("chat-3", use, list)).toBe("a, b");
    expect(server.sessionIds).toHaveLength(1);
    expect(events.map(({ connection, shared, name }) => [connection, shared, name])).toEqual(
      events.map(() => ["notes", "inventory", undefined]),
    );
  });

  test("tells the model of each agent session that knew it, once, when it was replaced", async () => {
    const { server, sessions, startAnother } = await startShared();
    const other = startAnother().sessions;
    const tell = (id: string, each = sessions) => each.run(id, use, isTold);
    for (const id of ["2", "1", "3"]) expect(await tell(id)).toBe(false);
    server.forgetSessions();
    expect(await tell("1", other)).toBe(true);
    // It lists tools and calls none: nobody was told.
    await sessions.run("2", use, (run) => run.tools());
    expect(await tell("2")).toBe(true);
    expect(await tell("new")).toBe(false);
    for (const id of ["1", "2", "new"]) expect(await tell(id, other)).toBe(false);
    await sessions.restart({ shared: "inventory" }, use);
    expect(await tell("3")).toBe(true);
    for (const id of ["1", "2", "new"]) expect(await tell(id, other)).toBe(true);
    expect(await tell("3")).toBe(false);
    expect(server.sessionIds).toHaveLength(3);
  });

  test("tells a model that it did not tell in the run that met the loss", async () => {
    const { server, sessions, startAnother } = await startShared();
    const other = startAnother().sessions;
    await using lease = await openAndList(sessions, "1", use);
    await add("old")(lease);
    server.forgetSessions();
    await other.run("2", use, add("new"));
    // The loss is met by a ping, which has no place for a note.
    await lease.ready("notes");
    await lease.dispose();
    expect(await sessions.run("1", use, isTold)).toBe(true);
    expect(await sessions.run("1", use, isTold)).toBe(false);
  });

  test("tells each of many agent sessions", async () => {
    const { server, sessions } = await startShared();
    const ids = Array.from({ length: 51 }, (_, index) => `chat-${index}`);
    for (const id of ids) await sessions.run(id, use, (run) => run.tools());
    server.forgetSessions();
    for (const expected of [true, false]) {
      for (const id of ids) {
        expect(await sessions.run(id, use, isTold)).toBe(expected);
      }
    }
  });

  test("takes what agent sessions have seen of it for no session, and deletes it with them", async () => {
    const { sessions, held, pass } = await startShared();
    const records = async () => (await held.store.list({ limit: 10 })).records;
    const runAll = async () => {
      for (const id of ["1", "2"]) await sessions.run(id, use, list);
    };
    await runAll();
    expect(await records()).toHaveLength(3);
    expect((await sessions.list(use)).sessions).toHaveLength(1);
    expect((await sessions.admin.list()).sessions).toHaveLength(1);
    expect(await sessions.status("1", use)).toEqual([]);
    await sessions.end("1", use);
    expect(await records()).toHaveLength(2);
    expect(await sessions.admin.end("2")).toEqual([]);
    expect(await records()).toHaveLength(1);
    expect(await sessions.admin.status({ shared: "inventory" })).toMatchObject([
      { ...inventory, alive: true },
    ]);
    pass(hour);
    const { sessions: swept } = await sessions.admin.sweep({ idleForMs: hour });
    expect(swept).toHaveLength(1);
    expect(await records()).toEqual([]);
    await runAll();
    await sessions.endAll(use);
    expect(await records()).toEqual([]);
  });

  test.each([
    [null],
    [{ version: 1, seen: "5", savedAt: 5 }],
    [{ version: 2, seen: 5, savedAt: 5 }],
  ])("is new to an agent session whose record of it is %j", async (wrong) => {
    const { server, sessions, held } = await startShared();
    const run = async () => sessions.run("1", use, isTold);
    await run();
    const { records } = await held.store.list({ limit: 10 });
    const { key, revision, owner } = records.find((record) => record.key.includes("seen"))!;
    await held.store.put(key, wrong, revision, { owner });
    expect(await run()).toBe(false);
    server.forgetSessions();
    expect(await run()).toBe(true);
  });

  test("is known to an agent session whose record of it was swept during a long step", async () => {
    const { server, sessions, held, startAnother, pass } = await startShared();
    const records = async () => (await held.store.list({ limit: 10 })).records;
    const lease = await openAndList(sessions, "1", use);
    pass(hour);
    for (const { key, revision } of await records()) {
      if (key.includes("seen")) await held.store.delete(key, revision);
    }
    await lease.dispose();
    expect(await records()).toHaveLength(2);
    server.forgetSessions();
    await startAnother().sessions.run("2", use, list);
    expect(await sessions.run("1", use, isTold)).toBe(true);
  });

  test("is known to an agent session whose first step died", async () => {
    const { server, sessions, startAnother } = await startShared();
    await openAndList(sessions, "1", use);
    server.forgetSessions();
    const other = startAnother().sessions;
    await other.run("2", use, list);
    expect(await other.run("1", use, isTold)).toBe(true);
  });

  test("is replaced once when it is lost, and the model of each run that met the loss is told", async () => {
    const { server, sessions, startAnother, types } = await startShared();
    const other = startAnother();
    await using one = await openAndList(sessions, "chat-1", use);
    await using two = await openAndList(other.sessions, "chat-2", use);
    await add("old")(one);
    server.forgetSessions();
    await add("new")(one);
    await one.dispose();
    // Its own notice, though the first run's model was told before.
    expect(await isTold(two)).toBe(true);
    expect(await list(two)).toBe("new");
    expect(server.liveSessions()).toBe(1);
    expect(types()).toContain("recovered");
    expect(other.types()).toContain("adopted");
    await two.dispose();
    const later = await sessions.run("chat-3", use, isTold);
    expect(later).toBe(false);
  });

  test("outlives its agent sessions, and is ended by its id", async () => {
    const { server, sessions, held } = await startShared();
    await sessions.run("chat", use, add("a"));
    expect(await sessions.end("chat", use)).toEqual([]);
    expect(await sessions.restart("chat", use)).toEqual([]);
    expect(server.liveSessions()).toBe(1);
    const unknown = await sessions.end({ shared: "other" }, use);
    expect(unknown).toEqual([]);
    expect(await sessions.end({ shared: "inventory" }, use)).toEqual([
      { ...inventory, ended: true, removed: true },
    ]);
    expect(server.liveSessions()).toBe(0);
    expect((await held.store.list({ limit: 10 })).records).toEqual([]);
    expect(await sessions.run("chat", use, list)).toBe("");
  });

  test("is of one principal", async () => {
    const { server, sessions } = await startShared();
    await sessions.run("chat", use, add("alice's"));
    const ofBob = { principal: bob };
    expect(await sessions.run("chat", ofBob, list)).toBe("");
    await sessions.end({ shared: "inventory" }, ofBob);
    expect((await sessions.list({ ...ofBob, shared: true })).sessions).toEqual([]);
    expect(
      (await sessions.list({ ...ofBob, sessionId: { shared: "inventory" } })).sessions,
    ).toEqual([]);
    expect(server.liveSessions()).toBe(1);
    expect(await sessions.run("chat", use, list)).toBe("alice's");
  });

  test("is of one agent, or of all that share", async () => {
    const { sessions, startAnother } = await startShared();
    await sessions.run("chat", use, add("mine"));
    const planner = startAnother({ agent: "planner" });
    expect(await planner.sessions.run("chat", use, list)).toBe("");
    const first = startAnother({ share: true });
    const second = startAnother({ share: true });
    await first.sessions.run("1", use, add("everybody's"));
    expect(await second.sessions.run("2", use, list)).toBe("everybody's");
  });

  test("stands beside agent sessions and names of the same text", async () => {
    const { server, sessions, startAnother } = await startShared({ shared: "x" });
    const plain = startAnother({ session: {} });
    await sessions.run("x", use, async (run) => {
      await add("shared")(run);
      await run.named.create("x");
      await run.named.run("x", add("named"));
    });
    await plain.sessions.run("x", use, add("plain"));
    expect(server.liveSessions()).toBe(3);
    expect((await plain.sessions.list({ ...use, sessionId: "x" })).sessions).toHaveLength(2);
    expect((await sessions.list({ ...use, sessionId: { shared: "x" } })).sessions).toHaveLength(1);
    await plain.sessions.end("x", use);
    expect(await sessions.run("x", use, list)).toBe("shared");
  });

  test("is replaced by the next run when it is too old, and runs that have it go on", async () => {
    const maxAgeMs = 60_000;
    const { server, sessions, startAnother, pass } = await startShared();
    const old = { session: { shared: "inventory", maxAgeMs } };
    await using lease = await openAndList(startAnother(old).sessions, "1", use);
    await add("old")(lease);
    pass(maxAgeMs);
    const next = await startAnother(old).sessions.run("2", use, add("new"));
    expect(next).toBe("1 notes");
    expect(await isTold(lease)).toBe(true);
    expect(await list(lease)).toBe("new");
    expect(server.liveSessions()).toBe(1);
    await lease.dispose();
    expect(await sessions.run("1", use, isTold)).toBe(false);
  });

  test("is in use as long as a run of any agent session", async () => {
    const { server, sessions, startAnother, pass, held } = await startShared({
      touchIntervalMs: 20,
    });
    await using lease = await openAndList(sessions, "chat", use);
    await add("a")(lease);
    pass(hour);
    held.log.length = 0;
    await expect.poll(() => held.log).toContain("touch");
    const { admin } = startAnother().sessions;
    expect(await admin.sweep({ idleForMs: hour })).toEqual({
      sessions: [],
      waitingCalls: 0,
      more: false,
    });
    await lease.dispose();
    pass(hour);
    const swept = await admin.sweep({
      idleForMs: hour,
      authorize: ({ shared, sessionId }) =>
        shared === "inventory" && sessionId === undefined ? { principal: alice } : undefined,
    });
    expect(swept.sessions).toMatchObject([{ ...inventory, ended: true, removed: true }]);
    expect(server.liveSessions()).toBe(0);
  });
});

test("a server that is down is told of with the id, or the name, of the session", async () => {
  const { server, sessions, events } = await startShared();
  server.intercept((_, response) => void response.writeHead(503).end());
  await sessions.run("chat", use, async (run) => {
    await run.tools();
    await withConnections({ notes: { named: "a" } }, (own) => own.tools());
  });
  const told = events.filter(({ type }) => type === "unavailable");
  expect(told).toMatchObject([inventory, { connection: "notes", name: "a" }]);
});

test("a sweep takes shared sessions alone, or leaves them", async () => {
  const { sessions, startAnother, pass } = await startShared();
  const plain = startAnother({ session: {} }).sessions;
  await sessions.run("chat", use, list);
  const chat = { connection: "notes", sessionId: "chat" };
  for (const [shared, first, second] of [
    [true, inventory, chat],
    [false, chat, inventory],
  ] as const) {
    await plain.run("chat", use, list);
    await sessions.run("other", use, list);
    pass(hour);
    const one = await sessions.admin.sweep({ idleForMs: hour, shared });
    expect(one).toMatchObject({ sessions: [first], more: false });
    const rest = await sessions.admin.sweep({ idleForMs: hour });
    expect(rest).toMatchObject({ sessions: [second], more: false });
  }
});

describe("withConnections({ shared })", () => {
  test("finds the session of the id from each agent session, and beside the run's own", async () => {
    const { server, sessions, events } = await startStored();
    const note = (chat: string, text: string) =>
      sessions.run(chat, use, async (run) => {
        await add(chat)(run);
        return await withConnections({ notes: { shared: "inventory" } }, async (own) => {
          await add(text)(own);
          return await list(currentConnections());
        });
      });
    expect(await note("chat-1", "a")).toBe("a");
    expect(await note("chat-2", "b")).toBe("a, b");
    expect(server.liveSessions()).toBe(3);
    const started = events.filter(({ type }) => type === "started");
    expect(started.map(({ shared }) => shared ?? "-")).toEqual(["-", "inventory", "-"]);
  });

  test("is the run's own connection where the definition has the same id", async () => {
    const { server, sessions, held } = await startShared();
    await sessions.run("chat", use, async (run) => {
      await add("a")(run);
      held.log.length = 0;
      expect(await listShared()).toBe("a");
      expect(await withConnections({ notes: "isolate" }, () => listShared())).toBe("a");
      expect(held.log.filter((operation) => operation === "get")).toEqual([]);
    });
    expect(server.liveSessions()).toBe(1);
  });

  test("is another principal's for that principal", async () => {
    const { sessions } = await startShared();
    await sessions.run("chat", { principal: bob }, add("bob's"));
    const found = await sessions.run("chat", use, async (run) => {
      await add("alice's")(run);
      return await listShared({ principal: bob });
    });
    expect(found).toBe("bob's");
  });

  test.each([
    [{ shared: "" }, "connections.notes.shared"],
    [{ shared: 5 }, "connections.notes.shared"],
    [{ shared: "x".repeat(257) }, "connections.notes.shared"],
    [{ shared: "x", named: "y" }, "connections.notes"],
    [{}, "connections.notes"],
  ])("refuses %j", async (mode: any, field) => {
    const { sessions } = await startShared();
    const nested = sessions.run("chat", use, () => withConnections({ notes: mode }, () => 1));
    await expect(nested).rejects.toMatchObject({ code: "CONNECTION_INVALID", data: { field } });
  });

  test("refuses a stdio server, and says why", async () => {
    const connections = {
      notes: defineMcpStdioConnection({ command: "node", description: "x" }),
    };
    await using registry = createConnectionProvider({ connections }).create({});
    const nested = registry.enter(() =>
      withConnections({ notes: { shared: "x" } }, () => undefined),
    );
    await expect(nested).rejects.toMatchObject({
      code: "CONNECTION_INVALID",
      message: expect.stringContaining("no other process finds the process of a stdio server"),
      data: { field: "connections.notes.shared" },
    });
  });
});

const call = async (tool: string, input: object = {}) => {
  const result = await currentConnections().call("notes", tool, { ...input });
  return (result.content as { text: string }[])[0]?.text;
};

describe("on the implicit run of a script", () => {
  const isOver = expect.objectContaining({ code: "RUN_REQUIRED" });

  test("is that of the store, and is ended without a loss", async () => {
    const { server, sessions, startAnother } = await startShared();
    const autoSession = { principal: alice, sessionId: "nightly" };
    const script = startAnother({ autoSession });
    await sessions.run("chat", use, add("a"));
    expect(await call("add_note", { text: "b" })).toBe("2 notes");
    await script.sessions.end({ shared: "inventory" }, use);
    expect(server.liveSessions()).toBe(0);
    expect(await call("add_note", { text: "c" })).toBe("1 notes");
    await script.sessions.restart({ shared: "inventory" }, use);
    expect(await call("list_notes")).toBe("");
    await script.sessions.shutdown();
    expect(script.types()).not.toContain("lost");
    expect(() => currentConnections()).toThrow(isOver);
  });

  test("is refused without a store", async () => {
    const provider = createConnectionProvider({
      connections: connections({ shared: "x" }),
      autoSession: { principal: alice },
    });
    await expect(call("list_notes")).rejects.toMatchObject(
      needsStore("connections.notes.session.shared"),
    );
    await provider.shutdown();
    expect(() => currentConnections()).toThrow(isOver);
  });
});

describe.each(bothStores)("shared sessions in %s", (_, wrap) => {
  async function start() {
    const server = await startNotebookServer();
    const process = startProcess(server, wrap(createMemoryStore()), {
      session: { shared: "inventory" },
    });
    await process.sessions.run("chat", use, add("a"));
    server.requests.length = 0;
    return { server, ...process };
  }

  test("are told of with their ids, and without those of the servers", async () => {
    const { server, sessions } = await start();
    const described = {
      ...inventory,
      ...describedNotebook,
    };
    expect(
      (await sessions.list({ ...use, sessionId: { shared: "inventory" } })).sessions,
    ).toStrictEqual([described]);
    expect((await sessions.list({ ...use, shared: true })).sessions).toStrictEqual([described]);
    expect((await sessions.list(use)).sessions).toStrictEqual([described]);
    const { sessions: all } = await sessions.admin.list();
    expect(all).toMatchObject([{ ...inventory, owner: expect.any(String), principal: alice }]);
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toEqual([]);
    expect((await sessions.list({ ...use, name: "inventory" })).sessions).toEqual([]);
    for (const id of server.sessionIds) expect(JSON.stringify(all)).not.toContain(id);
  });

  test("are pinged, restarted, cleared and ended", async () => {
    const { server, sessions } = await start();
    expect(await sessions.status({ shared: "inventory" }, { ...use, connection: "notes" })).toEqual(
      [{ ...inventory, alive: true }],
    );
    expect(server.log).toEqual(["POST ping"]);
    await sessions.clearTools({ shared: "inventory" }, use);
    expect((await sessions.list({ ...use, shared: true })).sessions[0]).not.toHaveProperty("tools");
    expect(await sessions.restart({ shared: "inventory" }, use)).toEqual([
      { ...inventory, ended: true, removed: false },
    ]);
    expect((await sessions.list({ ...use, shared: true })).sessions).toMatchObject([
      { kind: "lost" },
    ]);
    expect(await sessions.run("chat", use, list)).toBe("");
    expect(server.liveSessions()).toBe(1);
    expect(await sessions.endAll(use)).toEqual([{ ...inventory, ended: true, removed: true }]);
    expect(server.liveSessions()).toBe(0);
  });
});

test.each(["list", "status", "restart", "clearTools", "end"] as const)(
  "%s refuses what is no shared id, no principal or no connection",
  async (method) => {
    const { sessions, held } = await startShared();
    const act = async (shared: unknown, selection: object) => {
      const of = { shared } as SharedId;
      if (method !== "list") return await sessions[method](of, selection as typeof use);
      return await sessions.list({ ...(selection as typeof use), sessionId: of });
    };
    await expect(act("", use)).rejects.toMatchObject(invalid("shared"));
    await expect(act(undefined, use)).rejects.toMatchObject(invalid("shared"));
    await expect(act("a", { ...use, name: "b" })).rejects.toMatchObject(invalid("name"));
    expect(held.log).toEqual([]);
    await expect(act("a", { ...use, connection: "nots" })).rejects.toMatchObject(
      invalid("connection"),
    );
    await expect(act("a", {})).rejects.toMatchObject({ code: "PRINCIPAL_REQUIRED" });
  },
);

const connections = (session: object) => ({
  notes: defineMcpClientConnection({
    url: "http://127.0.0.1:1/mcp",
    description: "x",
    session: { mode: "stateful", ...session },
  }),
});
const needsStore = (field: string) => ({
  code: "CONNECTION_INVALID",
  message: expect.stringContaining("needs durable sessions"),
  data: { field },
});
const nested = () => withConnections({ notes: { shared: "x" } }, () => undefined);

describe("without a store", () => {
  test("a definition with an id is refused", async () => {
    const provider = createConnectionProvider({ connections: connections({ shared: "x" }) });
    const refused = needsStore("connections.notes.session.shared");
    expect(() => provider.create({ principal: alice })).toThrow(expect.objectContaining(refused));
    const run = provider.run({ session: {}, principal: alice }, (own) => own.tools());
    await expect(run).rejects.toMatchObject(refused);
    const ephemeral = () => currentConnections({ ephemeral: true, provider, principal: alice });
    expect(ephemeral).toThrow(expect.objectContaining(refused));
  });

  test("a part of a run with an id is refused", async () => {
    const provider = createConnectionProvider({ connections: connections({}) });
    const refused = needsStore("connections.notes.shared");
    const run = provider.create({ principal: alice }).enter(nested);
    await expect(run).rejects.toMatchObject(refused);
    const ephemeral = currentConnections({ ephemeral: true, provider, principal: alice });
    await expect(ephemeral.enter(nested)).rejects.toMatchObject(refused);
  });
});
