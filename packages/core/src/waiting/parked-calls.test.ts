import { expect, test } from "vitest";
import {
  asks,
  createAskingServer,
  done,
  orders,
  principal,
  send,
  url,
  watchStore,
  yes,
} from "../../test/asking-server.ts";
import { createMemoryStore } from "../index.ts";
import type { WaitingLimits } from "./index.ts";
import {
  type ClaimedOutcome,
  createKeptCalls,
  createWaitingStore,
  describeWaiting,
  type KeptCalls,
  waitingFailure,
} from "./internal.ts";
import type { OpenCall } from "./record/waiting-record.ts";
import type { StoredCall } from "./record/waiting-store.ts";

const server = new URL(url);
const tea = { tool: "order", input: { item: "tea" }, toolCallId: "call 1" };

/** An agent session whose connection `shop` needs a sign-in. Each `open` is a process. */
function startChat(limits: WaitingLimits = {}) {
  const time = { now: 1_000 };
  const store = watchStore(createMemoryStore());
  const open = () => {
    const calls = createWaitingStore(store, { agent: "default", sessionId: "chat", principal });
    return createKeptCalls(calls, { now: () => time.now, ...limits });
  };
  const read = async (id: string) => (await open().read(id))!;
  return {
    ...{ store, time, open, read },
    park: async (call: Partial<Parameters<KeptCalls["park"]>[0]> = {}) =>
      (await open().park({ connection: "shop", url: server, ...tea, ...call }))!,
    /** @param outcome what becomes of the call */
    carryOut: async (id: string, outcome: () => Promise<ClaimedOutcome> | ClaimedOutcome) =>
      await open().sendClaimed(
        (await read(id)) as StoredCall<OpenCall>,
        async () => await outcome(),
      ),
  };
}

const hangs = () => new Promise<never>(() => undefined);
const settles = { type: "settles", answer: { result: done() } } as const;

test("a call waits for a sign-in with two writes, and shows what it waits for", async () => {
  const { park, store, time } = startChat();
  const call = describeWaiting(await park());
  // Its entry among those that are due, and its record.
  expect(store.operations).toEqual(["put", "put"]);
  expect(call).toEqual({
    ...{
      id: expect.any(String),
      type: "call-waits-for-sign-in",
      state: "waiting",
      connection: "shop",
    },
    ...{ server: server.origin, method: "tools/call", tool: "order", toolCallId: "call 1" },
    ...{ round: 0, requests: {}, askedAt: time.now, expiresAt: time.now + 604_800_000 },
  });
});

test("the same call, made again by a step that runs again, is one record until it is delivered", async () => {
  const { park, carryOut, open, read } = startChat();
  const first = await park();
  expect(await park()).toEqual(first);
  const other = await park({ input: { item: "milk" } });
  const standIn = await park({ isStandIn: true });
  expect(new Set([first.id, other.id, standIn.id]).size).toBe(3);
  await carryOut(first.id, () => settles);
  await open().records.noteDelivered(await read(first.id));
  expect((await park()).id).toBe(`${first.id}.1`);
});

test("a graph that runs again finds its call by what the model gave, with nothing but a read", async () => {
  const { park, open, store } = startChat();
  const sent = { item: "tea", trace: "1" };
  const inGraph = { connection: "shop", ...tea, input: { item: "tea", trace: "2" } };
  const asked = { modelInput: tea.input, scope: "message 1" };
  const kept = await park({ ...asked, input: sent });
  expect(kept.request.params["arguments"]).toEqual(sent);
  store.operations.length = 0;
  expect(await open().findParked({ ...inGraph, ...asked })).toEqual(kept);
  expect(store.operations).toEqual(["get"]);
  for (const other of [{ scope: "message 2" }, { modelInput: sent }, { isStandIn: true }])
    expect(await open().findParked({ ...inGraph, ...asked, ...other })).toBeUndefined();
  const unnamed = { toolCallId: undefined, scope: undefined };
  expect(await open().findParked({ ...inGraph, ...asked, ...unnamed })).toBeUndefined();
});

test("an input that no store takes is not kept", async () => {
  const { park, open } = startChat();
  expect(await park({ input: { text: "a".repeat(600_000) } })).toBeUndefined();
  expect(await open().records.list()).toEqual([]);
});

test("a record that the store took before it failed is found", async () => {
  const memory = createMemoryStore();
  const failing = {
    ...memory,
    put: async (...put: Parameters<typeof memory.put>) => {
      await memory.put(...put);
      throw new Error("The connection broke.");
    },
  };
  const calls = createWaitingStore(failing, { agent: "a", sessionId: "chat", principal });
  const parked = await createKeptCalls(calls, { now: Date.now }).park({
    connection: "shop",
    url: server,
    ...tea,
  });
  expect(parked).toMatchObject({ type: "call-waits-for-sign-in", state: "waiting" });
});

test("two processes that go on at once send one call", async () => {
  const { park, carryOut, read } = startChat();
  const { id } = await park();
  let sent = 0;
  const once = () => {
    sent += 1;
    return settles;
  };
  const outcomes = await Promise.allSettled([carryOut(id, once), carryOut(id, once)]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(sent).toBe(1);
  expect((await read(id)).call).toMatchObject({ state: "settled", answer: { result: done() } });
});

test("a call that is refused again waits again, for another claim", async () => {
  const { park, carryOut, read } = startChat();
  const first = await park();
  const error = new Error("Sign in with more scopes.");
  const { call, failure } = await carryOut(first.id, () => ({ type: "not-sent", error }));
  expect(failure).toEqual({ error });
  expect(call).toMatchObject({ type: "call-waits-for-sign-in", state: "waiting" });
  expect(call.leg).not.toBe(first.leg);
  await carryOut(first.id, () => settles);
  expect((await read(first.id)).call.state).toBe("settled");
});

test("the outcome of a process that died after its claim is unknown, but for a tool that may run twice", async () => {
  const gone = startChat();
  const { id } = await gone.park();
  void gone.carryOut(id, hangs);
  await expect.poll(async () => (await gone.read(id)).call.state).toBe("answering");
  gone.time.now += 61_000;
  const { call } = await gone.read(id);
  expect(call.state).toBe("outcome-unknown");
  expect(waitingFailure(call)).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(waitingFailure(call).message).toContain("the step that made the call after the sign-in");

  const safe = startChat({ safeTools: ["order"] });
  await safe.park();
  void safe.carryOut(id, hangs);
  await expect.poll(async () => (await safe.read(id)).call.state).toBe("answering");
  safe.time.now += 61_000;
  expect((await safe.read(id)).call.state).toBe("waiting");
});

test.each(["fail", "ask-again"] as const)(
  "it expires, with onExpired: %s too",
  async (onExpired) => {
    const { park, read, time } = startChat({ onExpired, maxAgeMs: 1_000 });
    const { id } = await park();
    time.now += 1_001;
    const { call } = await read(id);
    expect(call.state).toBe("expired");
    expect(waitingFailure(call).message).toContain("the user did not sign in in time");
  },
);

test("it takes no answer, and can be withdrawn", async () => {
  const { park, open } = startChat();
  const { id } = await park();
  const answered = open().answer(id, {}, { url: server, fetch });
  await expect(answered).rejects.toMatchObject({
    code: "NOT_WAITING",
    message: expect.stringContaining("until the user has signed in to connection shop"),
    data: { state: "waiting", connection: "shop" },
  });
  expect(await open().withdraw(id)).toMatchObject({ state: "withdrawn" });
  const again = open().answer(id, {}, { url: server, fetch });
  await expect(again).rejects.toMatchObject({ data: { state: "withdrawn" } });
});

test("the server may ask something after the sign-in: the same record has the questions", async () => {
  const { park, open, read } = startChat();
  const { id } = await park();
  const shop = createAskingServer(orders);
  const kept = open();
  await kept.sendClaimed((await read(id)) as StoredCall<OpenCall>, async (claimed) => {
    const fetch = kept.wrap(shop.fetch, { url: server, connection: "shop" });
    const { result } = await send((input, init) => fetch(input, init, { ...tea, claimed }));
    expect(result).toMatchObject({ _meta: { "durable-mcp/waiting": { id, type: "question" } } });
    return { type: "kept" };
  });
  expect((await read(id)).call).toMatchObject({ type: "question", state: "waiting", round: 1 });
  expect(await open().findParked({ connection: "shop", ...tea })).toBeUndefined();
  const settled = await open().answer(id, yes, { url: server, fetch: shop.fetch });
  expect(settled).toMatchObject({ state: "settled", answer: { result: done() } });
  expect(shop.legs).toHaveLength(2);
});

test("a step that runs again with a call that waits for a sign-in sends nothing", async () => {
  const { park, open } = startChat();
  const { id } = await park();
  const shop = createAskingServer(() => asks("state"));
  const fetch = open().wrap(shop.fetch, { url: server, connection: "shop" });
  const { result } = await send((input, init) => fetch(input, init, tea));
  expect(result).toMatchObject({
    _meta: { "durable-mcp/waiting": { id, type: "call-waits-for-sign-in" } },
  });
  expect(shop.legs).toEqual([]);
});
