import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { describe, expect, test } from "vitest";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { collectEvents } from "../collect-events.ts";
import { createFingerprintingStore } from "../../../sessions/test/fingerprinting-store.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, callTool } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import type { StoredSessionsOptions } from "../../../sessions/src/management/durable-sessions.ts";

const hour = 3_600_000;
const use = { principal: alice };

/** A server that asks, and one with sessions, and processes of an application that uses both. */
async function start(wrap: (store: SessionStore) => SessionStore = (store) => store) {
  const [asking, notes] = [await startAskingServer(), await startNotebookServer()];
  let time = Date.now();
  const now = () => time;
  const plain = createMemoryStore({ now });
  const store = wrap(plain);
  const { onEvent, events } = collectEvents();
  const description = "A server.";
  const pausing = defineMcpClientConnection({ url: asking.url, description, waiting: true });
  const startProcess = (options: Partial<StoredSessionsOptions> = {}) =>
    createDurableSessions({
      connections: {
        shop: pausing,
        bank: pausing,
        notes: defineMcpClientConnection({ url: notes.url, description, session: "stateful" }),
      },
      ...{ store, now, onEvent, ...options },
    });
  const sessions = startProcess();
  /** A call that waits. */
  const ask = async (
    chat: string,
    { tool = "shop__order", principal = alice }: { tool?: string; principal?: Principal } = {},
    of = sessions,
  ) => {
    await of.run(chat, { principal }, async (run) =>
      callTool(await run.tools(), tool, { item: "tea" }),
    );
    return callsOf(await of.waiting(chat, { principal })).at(-1)!;
  };
  const pass = (ms: number) => {
    time += ms;
  };
  /** How many records the store has. */
  const size = async () => (await plain.list({ limit: 1_000 })).records.length;
  return { asking, notes, store, plain, startProcess, sessions, ask, pass, size, events };
}

const connectionsOf = (calls: readonly { connection: string }[]) =>
  calls.map(({ connection }) => connection).toSorted();

describe.each(bothStores)("in %s", (_, wrap) => {
  test("waiting calls are no sessions, in any list", async () => {
    const { sessions, ask } = await start(wrap);
    await ask("chat");
    const isSession = [{ connection: "notes", sessionId: "chat" }];
    expect((await sessions.list({ ...use, sessionId: "chat" })).sessions).toMatchObject(isSession);
    expect(await sessions.status("chat", use)).toMatchObject([{ connection: "notes" }]);
    expect((await sessions.list(use)).sessions).toMatchObject(isSession);
    expect((await sessions.admin.list()).sessions).toMatchObject(isSession);
  });

  test("are deleted with their agent session, whatever their state", async () => {
    const { sessions, ask, startProcess, size } = await start(wrap);
    const settled = await ask("chat");
    await sessions.answer("chat", settled.id, yes, use);
    await ask("chat", { tool: "bank__order" });
    await ask("other");
    await ask("chat", { principal: bob });
    const planner = startProcess({ agent: "planner" });
    await ask("chat", {}, planner);

    await sessions.end({ shared: "chat" }, use);
    const ended = await sessions.end("chat", use);
    expect(ended).toMatchObject([{ connection: "notes", ended: true, removed: true }]);
    expect(await sessions.waiting("chat", use)).toEqual([]);
    expect(await sessions.waiting("other", use)).toHaveLength(1);
    expect(await sessions.waiting("chat", { principal: bob })).toHaveLength(1);
    expect(await planner.waiting("chat", use)).toHaveLength(1);
    // A session, a call and its entry of each of the three.
    expect(await size()).toBe(9);
    await sessions.admin.end("chat");
    expect(await sessions.waiting("chat", { principal: bob })).toEqual([]);
    expect(await size()).toBe(6);
  });

  test("are deleted with all of a principal's agents and agent sessions", async () => {
    const { sessions, ask, startProcess, size } = await start(wrap);
    const planner = startProcess({ agent: "planner" });
    const shared = startProcess({ share: true });
    for (const each of [sessions, planner, shared]) {
      await ask("chat", {}, each);
      await ask("other", {}, each);
    }
    await ask("chat", { principal: bob });
    const ended = await sessions.endAll(use);
    expect(connectionsOf(ended)).toEqual(Array.from({ length: 6 }, () => "notes"));
    expect(await size()).toBe(3);
    expect(await sessions.waiting("chat", { principal: bob })).toHaveLength(1);
  });

  test("are swept when nobody used them", async () => {
    const { sessions, ask, pass, size } = await start(wrap);
    const settled = await ask("a");
    await sessions.answer("a", settled.id, yes, use);
    await ask("b");
    const { id } = await ask("b", { tool: "bank__order" });
    await sessions.withdraw("b", id, use);
    pass(hour);
    const kept = await ask("c");
    expect(await sessions.admin.sweep()).toEqual({ sessions: [], waitingCalls: 0, more: false });
    expect(await sessions.admin.sweep({ idleForMs: hour, name: "x" })).toEqual({
      ...{ sessions: [], waitingCalls: 0, more: false },
    });
    expect(await sessions.admin.sweep({ idleForMs: hour, shared: true })).toEqual({
      ...{ sessions: [], waitingCalls: 0, more: false },
    });
    const swept = await sessions.admin.sweep({ idleForMs: hour });
    expect(swept).toMatchObject({ waitingCalls: 3, more: false });
    expect(connectionsOf(swept.sessions)).toEqual(["notes", "notes"]);
    expect(await size()).toBe(3);
    expect(await sessions.waiting("c", use)).toEqual([kept]);
  });
});

test("those of a connection that is not declared any more are deleted by its name", async () => {
  const { store, asking, ask, sessions } = await start();
  await ask("chat");
  const { url } = asking;
  const later = createDurableSessions({
    connections: { other: defineMcpClientConnection({ url, description: "Another." }) },
    store,
  });
  expect(await later.end("chat", { ...use, connection: "shop" as "other" })).toEqual([]);
  expect(await sessions.waiting("chat", use)).toEqual([]);
  await expect(later.end("chat", { ...use, connection: "shop" as "other" })).rejects.toMatchObject({
    code: "CONNECTION_INVALID",
  });
});

test("they are found and deleted after a rotation of the keys, and where the store hides whose they are", async () => {
  const [first, second, print] = [1, 2, 3].map((each) => new Uint8Array(32).fill(each));
  const plain = createMemoryStore();
  const sealed = (keys: Parameters<typeof encryptStore>[1]["keys"]) =>
    encryptStore(plain, { keys, fingerprintKey: print! });
  const stores = [
    [sealed({ current: first! }), sealed({ current: second!, previous: first! })],
    [createFingerprintingStore(plain), createFingerprintingStore(plain)],
  ] as const;
  const { url } = await startAskingServer();
  for (const [before, after] of stores) {
    const process = (store: SessionStore) =>
      createDurableSessions({
        connections: {
          shop: defineMcpClientConnection({ url, description: "A.", waiting: true }),
        },
        store,
      });
    for (const id of ["a", "b"]) {
      await process(before).run(id, use, async (run) => callTool(await run.tools(), "shop__order"));
    }
    const later = process(after);
    const [call] = callsOf(await later.waiting("a", use));
    expect(await later.answer("a", call!.id, yes, use)).toMatchObject({ state: "settled" });
    await later.end("a", use);
    await later.endAll({ principal: bob });
    expect((await plain.list({ limit: 9 })).records).toHaveLength(2);
    await later.endAll(use);
    expect((await plain.list({ limit: 9 })).records).toEqual([]);
  }
});

describe("an answer that is under way when its agent session ends", () => {
  test.each([
    [
      "carries the call out",
      "order",
      {},
      "settled",
      /has answered the call, and its answer is not kept/,
    ],
    ["is asked again", "order_twice", {}, "withdrawn", /The call is withdrawn/],
    ["is lost", "order", { status: 500, text: "-" }, "outcome-unknown", /is unknown/],
  ])(
    "%s: both sides say so, and the call does not come back",
    async (_, tool, given, state, says) => {
      for (const endAll of [false, true]) {
        const { onEvent, events } = collectEvents();
        const held = Promise.withResolvers<void>();
        const begun = Promise.withResolvers<void>();
        const { url, legs } = await startAskingServer({
          answer: async ({ params }) => {
            if (params.inputResponses === undefined) return undefined;
            begun.resolve();
            await held.promise;
            return "status" in given ? given : undefined;
          },
        });
        const store = createMemoryStore();
        const connections = {
          shop: defineMcpClientConnection({ url, description: "A.", waiting: true }),
        };
        const startProcess = (tell?: typeof onEvent) =>
          createDurableSessions({ connections, store, onEvent: tell ?? (() => undefined) });
        const sessions = startProcess(onEvent);
        await sessions.run("chat", use, async (run) =>
          callTool(await run.tools(), `shop__${tool}`),
        );
        await sessions.run("chat", use, async (run) => callTool(await run.tools(), "shop__look"));
        const [call] = callsOf(await sessions.waiting("chat", use));
        const answer = startProcess(onEvent).answer("chat", call!.id, yes, use);
        await begun.promise;
        events.length = 0;
        await (endAll ? sessions.endAll(use) : sessions.end("chat", use));
        const told = { type: "waiting-call", connection: "shop", tool };
        expect(events.splice(0)).toEqual([{ ...told, round: 1, state: "outcome-unknown" }]);
        held.resolve();
        await expect(answer).rejects.toMatchObject({
          code: state === "withdrawn" ? "NOT_WAITING" : "OUTCOME_UNKNOWN",
          data: { state },
          message: expect.stringMatching(says),
        });
        const round = tool === "order_twice" ? 2 : 1;
        expect(events.filter(({ type }) => type === "waiting-call")).toEqual([
          { ...told, round, state },
        ]);
        expect((await store.list({ limit: 9 })).records).toEqual([]);
        expect(legs).toHaveLength(3);
      }
    },
  );

  test("a call that only waited is told as withdrawn", async () => {
    const { sessions, ask, events } = await start();
    await ask("chat");
    events.length = 0;
    await sessions.end("chat", use);
    const told = { type: "waiting-call", connection: "shop", tool: "order" };
    expect(events).toEqual([{ ...told, round: 1, state: "withdrawn" }]);
  });
});

describe("a sweep", () => {
  test("counts waiting calls to its limit", async () => {
    const { sessions, ask, pass, size } = await start();
    for (const chat of ["a", "b"]) await ask(chat);
    pass(hour);
    const sizes: number[] = [];
    for (const more of [true, false]) {
      const swept = await sessions.admin.sweep({ idleForMs: hour, limit: 2 });
      expect(swept.more).toBe(more);
      expect(swept.sessions.length + swept.waitingCalls).toBe(2);
      sizes.push(await size());
    }
    expect(sizes).toEqual([3, 0]);
  });

  test("leaves a call that is being answered, however long that takes", async () => {
    const { plain, sessions, ask, pass, size } = await start();
    await ask("chat");
    pass(hour);
    const { records } = await plain.list({ limit: 9 });
    const stored = records.find(({ key }) => key.includes("waiting/"))!;
    const { value, owner, key, revision, lastUsedAt } = stored;
    const claim = { token: "of another process", at: lastUsedAt };
    const answering = { ...(value as object), state: "answering", claim };
    await plain.put(key, answering, revision, { owner });
    pass(hour);
    // Its sign of life.
    await plain.touch(key, lastUsedAt + 2 * hour);
    await sessions.admin.sweep({ idleForMs: hour });
    expect(await size()).toBe(2);
    pass(hour);
    expect(await sessions.admin.sweep({ idleForMs: hour })).toMatchObject({ waitingCalls: 1 });
    expect(await size()).toBe(0);
  });

  test("leaves a call that is answered between its look and its deletion", async () => {
    let held!: ReturnType<typeof createFaultyStore>;
    const { sessions, ask, pass, size, startProcess } = await start((plain) => {
      held = createFaultyStore(plain);
      return held.store;
    });
    const { id } = await ask("chat");
    pass(hour);
    const other = startProcess();
    held.before("delete", async () => {
      held.heal();
      await other.answer("chat", id, yes, use);
    });
    const { waitingCalls } = await sessions.admin.sweep({ idleForMs: hour });
    expect(waitingCalls).toBe(0);
    expect(await size()).toBe(1);
  });

  test("leaves those of a later release", async () => {
    const { plain, sessions, ask, pass, size } = await start();
    await ask("chat");
    const { records } = await plain.list({ limit: 9 });
    for (const { key, value, owner, revision } of records) {
      if (!key.includes("waiting/")) continue;
      await plain.put(key, { ...(value as object), version: 3 }, revision, { owner });
    }
    pass(hour);
    expect(await sessions.admin.sweep({ idleForMs: hour })).toMatchObject({ waitingCalls: 0 });
    expect(await size()).toBe(2);
    await sessions.end("chat", use);
    expect(await size()).toBe(0);
  });
});
