/** What operators see of the calls that wait, and do with them. */

import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { collectEvents } from "../collect-events.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { parkCalls, startLockedShop } from "../sign-in-application.ts";
import { startSlowServer } from "../../../sessions/test/slow-server.ts";
import { alice, bob, callTool } from "../step.ts";
import { recordOwner } from "../../../sessions/src/records/slot-record.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** A shop that asks, a lab that takes its time, and the sessions of an application. */
async function start(
  wrap: (store: SessionStore) => SessionStore = (store) => store,
  server: Parameters<typeof startAskingServer>[0] = {},
) {
  const [shop, lab] = [
    await startAskingServer(server),
    await startSlowServer("task of 2026-07-28"),
  ];
  let time = Date.now();
  const memory = createMemoryStore({ now: () => time });
  const plain: SessionStore = {
    ...memory,
    getMany: async (keys) => await Promise.all(keys.map((key) => memory.get(key))),
  };
  const operations: string[] = [];
  const counted = new Proxy(plain, {
    get(target, name: keyof SessionStore) {
      const own = target[name] as (...args: unknown[]) => unknown;
      if (typeof own !== "function") return own;
      return (...args: unknown[]) => {
        operations.push(name);
        return own.apply(target, args);
      };
    },
  });
  const { onEvent, events } = collectEvents();
  const description = "A server.";
  const sessions = createDurableSessions({
    connections: {
      shop: defineMcpClientConnection({ url: shop.url, description, waiting: true }),
      lab: defineMcpClientConnection({ url: lab.url, description, waiting: { afterMs: 0 } }),
    },
    store: wrap(counted),
    ...{ onEvent, now: () => time },
  });
  const call = async (chat: string, principal: Principal = alice, tool = "shop__order") =>
    await sessions.run(chat, { principal }, async (run) =>
      callTool(
        await run.tools(),
        tool,
        tool === "shop__order" ? { item: "tea" } : { topic: "tea" },
      ),
    );
  const due = async () => {
    const found: string[] = [];
    for await (const { reference } of sessions.admin.due()) found.push(reference);
    return found;
  };
  const entries = async () => (await plain.list({ prefix: "due/", limit: 1_000 })).records;
  const pass = (ms: number) => void (time += ms);
  const { admin } = sessions;
  return { shop, lab, sessions, admin, call, due, entries, pass, events, operations };
}

const by = { by: "carol" };

describe.each(bothStores)("in %s", (_, wrap) => {
  test("operators find each call that is open, also of a chat that has nothing else", async () => {
    const { admin, call, operations, due } = await start(wrap);
    await call("a");
    await call("a", bob);
    await call("b", alice, "lab__research");
    expect((await admin.list()).sessions).toEqual([]);
    operations.length = 0;
    const { calls, cursor } = await admin.waiting();
    expect(operations).toEqual(["list", "getMany"]);
    expect(cursor).toBeUndefined();
    const seen = calls.map(({ sessionId, principal, call: { type } }) => [
      ...[sessionId, principal, type],
    ]);
    expect(seen).toHaveLength(3);
    expect(seen).toEqual(
      expect.arrayContaining([
        ["a", alice, "question"],
        ["a", bob, "question"],
        ["b", alice, "task"],
      ]),
    );
    const count = async (query: Parameters<typeof admin.waiting>[0]) =>
      (await admin.waiting(query)).calls.length;
    expect(await count({ sessionId: "a" })).toBe(2);
    expect(await count({ principal: alice })).toBe(2);
    expect(await count({ sessionId: "a", principal: alice })).toBe(1);
    expect(await count({ sessionId: "b", principal: bob })).toBe(0);
    const [task] = calls.filter(({ call: { type } }) => type === "task");
    expect(task!.owner).toBe(recordOwner(alice));
    expect(await due()).toEqual([]);
    for (const { reference, call: each } of calls) {
      for (const secret of [each.id, "alice"]) expect(reference).not.toContain(secret);
      expect(reference.length).toBeLessThanOrEqual(100);
    }
  });

  test("fills each page, whatever is between", async () => {
    const { admin, sessions, call } = await start(wrap);
    for (let n = 0; n < 7; n += 1) await call(`chat ${n}`);
    const found = new Set<string>();
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await admin.waiting({ limit: 3, cursor });
      sizes.push(page.calls.length);
      for (const each of page.calls) found.add(each.sessionId);
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(sizes).toEqual([3, 3, 1]);
    expect(found.size).toBe(7);
    const [first] = (await admin.waiting()).calls;
    await sessions.end(first!.sessionId, { principal: alice });
    expect((await admin.waiting()).calls).toHaveLength(6);
  });

  test("an operator answers a call for its principal, and events say who did", async () => {
    const { admin, call, shop, events, entries, sessions } = await start(wrap);
    await call("chat");
    const [of] = (await admin.waiting()).calls;
    events.length = 0;
    expect(await admin.answer(of!, yes, by)).toMatchObject({ state: "settled" });
    expect(shop.legs).toHaveLength(2);
    const told = { type: "waiting-call", connection: "shop", tool: "order", round: 1 };
    expect(events).toEqual([{ ...told, state: "settled", by: "carol" }]);
    await expect(admin.answer(of!, yes, by)).rejects.toMatchObject({ code: "NOT_WAITING" });
    expect(await entries()).toEqual([]);
    expect(await sessions.waiting("chat", { principal: alice })).toEqual([]);
  });

  test("an operator takes a call back", async () => {
    const { admin, call, events, entries, lab } = await start(wrap);
    await call("chat", alice, "lab__research");
    const [of] = (await admin.waiting()).calls;
    events.length = 0;
    expect(await admin.withdraw(of!, by)).toMatchObject({ state: "withdrawn" });
    expect(events).toMatchObject([{ type: "waiting-call", state: "withdrawn", by: "carol" }]);
    expect(lab.log).toContain("POST tasks/cancel");
    expect(await entries()).toEqual([]);
  });
});

test("an operator answers no question of a later round, none without a name, and opens no page", async () => {
  const url = "https://shop.example/terms";
  const page = { method: "elicitation/create", params: { mode: "url", message: "Agree.", url } };
  const { admin, call, shop } = await start(undefined, { question: () => page });
  await call("chat");
  const [of] = (await admin.waiting()).calls;
  const accepted = { confirm: { action: "accept" } } as const;
  const refusal = { code: "NOT_WAITING", message: expect.stringContaining("open a page") };
  await expect(admin.answer(of!, accepted, by)).rejects.toMatchObject(refusal);
  await expect(admin.withdraw(of!, {} as never)).rejects.toMatchObject({
    ...{ code: "CONNECTION_INVALID", data: { field: "by" } },
  });
  const other = await start();
  await other.call("chat");
  const [listed] = (await other.admin.waiting()).calls;
  const later = { ...listed!, call: { ...listed!.call, round: 7 } };
  const late = other.admin.answer(later, yes, by);
  await expect(late).rejects.toMatchObject({ code: "NOT_WAITING" });
  expect([shop.legs.length, other.shop.legs.length]).toEqual([1, 1]);
});

test("a call that waits for a sign-in is listed, and nobody answers it", async () => {
  const app = await startLockedShop({ waiting: true });
  await parkCalls(app, [{ tool: "work__order", input: { item: "tea" } }]);
  const { admin } = app.sessions();
  const [of] = (await admin.waiting()).calls;
  expect(of).toMatchObject({ call: { type: "call-waits-for-sign-in" } });
  await expect(admin.answer(of!, {}, by)).rejects.toMatchObject({ code: "NOT_WAITING" });
  expect(await admin.withdraw(of!, by)).toMatchObject({ state: "withdrawn" });
});

test("a question is due when its time is up, and then it is over", async () => {
  const { admin, call, due, pass, entries } = await start();
  await call("chat");
  expect(await due()).toEqual([]);
  pass(7 * day);
  const [reference] = await due();
  expect(await admin.check(reference!)).toMatchObject({ call: { state: "expired" } });
  expect(await admin.check(reference!)).toBeUndefined();
  expect(await entries()).toEqual([]);
});

test("an answer whose process is gone is due when its claim has run out", async () => {
  const gate = Promise.withResolvers<undefined>();
  const arrived = Promise.withResolvers<void>();
  const { admin, call, due, pass, entries, sessions } = await start(undefined, {
    async answer({ params }) {
      if (!params.inputResponses) return undefined;
      arrived.resolve();
      return await gate.promise;
    },
  });
  await call("chat");
  const [of] = (await admin.waiting()).calls;
  // Its process says nothing more, because the time of this test passes at once.
  const answering = admin.answer(of!, yes, by);
  await arrived.promise;
  expect((await admin.waiting()).calls).toMatchObject([{ call: { state: "answering" } }]);
  pass(50_000);
  expect(await due()).toEqual([]);
  pass(11_000);
  const [reference] = await due();
  expect(await admin.check(reference!)).toMatchObject({ call: { state: "outcome-unknown" } });
  expect(await entries()).toEqual([]);
  gate.resolve(undefined);
  expect(await answering).toMatchObject({ state: "settled" });
  expect(await sessions.waiting("chat", { principal: alice })).toEqual([]);
});

test("a page of sessions is filled, though calls stand between them", async () => {
  const [shop, notes] = [await startAskingServer(), await startNotebookServer()];
  const description = "A server.";
  const sessions = createDurableSessions({
    connections: {
      shop: defineMcpClientConnection({ url: shop.url, description, waiting: true }),
      notes: defineMcpClientConnection({ url: notes.url, description, session: "stateful" }),
    },
    store: createMemoryStore(),
    onEvent: () => undefined,
  });
  for (const chat of ["a", "b", "c", "d"]) {
    await sessions.run(chat, { principal: alice }, async (run) =>
      callTool(await run.tools(), "shop__order", { item: "tea" }),
    );
  }
  for (const of of [sessions.admin, sessions]) {
    const first = await of.list({ principal: alice, limit: 3 });
    const last = await of.list({ principal: alice, limit: 3, cursor: first.cursor });
    expect([first.sessions.length, last.sessions.length, last.cursor]).toEqual([3, 1, undefined]);
  }
});
