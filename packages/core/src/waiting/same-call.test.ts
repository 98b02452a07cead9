import { expect, test } from "vitest";
import {
  asks,
  createAskingServer,
  createGate,
  done,
  type Leg,
  principal,
  send,
  url,
  watchStore,
  yes,
} from "../../test/asking-server.ts";
import { createMemoryStore, McpSessionError } from "../index.ts";
import { waitingCallOf } from "./index.ts";
import { createKeptCalls, createWaitingStore } from "./internal.ts";

const orders = ({ params }: Leg) =>
  "requestState" in params ? done(params.arguments.item) : asks("s");

/** The steps of one chat, whose calls have a model's ids. */
function startChat(answer: Parameters<typeof createAskingServer>[0] = orders) {
  const server = createAskingServer(answer);
  const owner = { agent: "default", sessionId: "chat", principal };
  const store = watchStore(createMemoryStore());
  const calls = createWaitingStore(store, owner);
  const kept = createKeptCalls(calls, { now: Date.now });
  return {
    ...{ server, calls, kept, store },
    call: async (toolCallId: string, item = "tea", input: unknown = { item }) => {
      const where = { url: new URL(url), connection: "shop" };
      const fetch = kept.wrap(server.fetch, where);
      const { result } = await send(
        (request, init) => fetch(request, init, { toolCallId, input }),
        { params: { name: "order", arguments: { item } } },
      );
      return { result, call: waitingCallOf(result) };
    },
    answer: async (id: string) =>
      await kept.answer(id, yes, { url: new URL(url), fetch: server.fetch }),
    deliver: async (id: string) => {
      await kept.records.noteDelivered((await calls.read(id))!);
    },
  };
}

test("a step that runs again gets the placeholder again, and sends no second first leg", async () => {
  const { call, server } = startChat();
  const first = await call("call 1");
  expect(first.call).toMatchObject({ toolCallId: "call 1", state: "waiting" });
  expect(await call("call 1")).toEqual(first);
  expect(server.legs).toHaveLength(1);
});

test("the order of the arguments does not matter, because databases change it", async () => {
  const { call, server } = startChat();
  await call("call 1", "tea", { a: 1, b: { c: 2, d: [3] } });
  await call("call 1", "tea", { b: { d: [3], c: 2 }, a: 1 });
  expect(server.legs).toHaveLength(1);
});

test("an argument that a schema made of the model's is the same as its JSON in a message", async () => {
  const { call, server } = startChat();
  await call("call 1", "tea", { at: new Date(0), note: undefined });
  await call("call 1", "tea", { at: "1970-01-01T00:00:00.000Z" });
  expect(server.legs).toHaveLength(1);
  await call("call 1", "tea", { at: new Date(1) });
  expect(server.legs).toHaveLength(2);
});

test("a step that runs again after the answer gets the kept result, until it is delivered", async () => {
  const { call, answer, deliver, server } = startChat();
  const { call: waiting } = await call("call 1");
  await answer(waiting!.id);
  expect((await call("call 1")).result).toEqual(done("tea"));
  expect((await call("call 1")).result).toEqual(done("tea"));
  expect(server.legs).toHaveLength(2);
  await deliver(waiting!.id);
  const { call: next } = await call("call 1");
  expect(next).toMatchObject({ toolCallId: "call 1", state: "waiting" });
  expect(next!.id).not.toBe(waiting!.id);
  expect(server.legs).toHaveLength(3);
  expect((await call("call 1")).call).toEqual(next);
});

test("an id that comes again costs as much the sixtieth time as the third", async () => {
  const { call, answer, deliver, store, kept } = startChat();
  const ids = new Set<string>();
  const costs: string[][] = [];
  for (let turn = 0; turn < 60; turn += 1) {
    store.operations.length = 0;
    const { call: waiting } = await call("call_0");
    costs.push([...store.operations]);
    ids.add(waiting!.id);
    await answer(waiting!.id);
    await deliver(waiting!.id);
  }
  expect(ids.size).toBe(60);
  // The last puts are the entry and the record of the question.
  expect(costs[0]).toEqual(["get", "put", "put"]);
  expect(costs[1]).toEqual(["get", "get", "put", "put"]);
  expect(costs.at(-1)).toEqual(["get", "get", "get", "put", "put", "put"]);
  store.operations.length = 0;
  const parked = { connection: "shop", url: new URL(url), tool: "order", input: { item: "tea" } };
  await kept.park({ ...parked, toolCallId: "call_0" });
  expect(store.operations.length).toBeLessThan(10);
});

test("an id that comes again leads past no call that still waits", async () => {
  const { call, answer, deliver, calls } = startChat();
  for (let turn = 0; turn < 4; turn += 1) {
    const { call: waiting } = await call("call_0");
    await answer(waiting!.id);
    await deliver(waiting!.id);
  }
  const all = await Promise.all([call("call_0"), call("call_0"), call("call_0")]);
  expect(new Set(all.map((each) => each.call!.id)).size).toBe(1);
  const open = all[0].call!;
  expect(open).toMatchObject({ state: "waiting" });
  expect((await calls.list()).filter(({ call: { state } }) => state === "waiting")).toHaveLength(1);
  await answer(open.id);
  expect((await call("call_0")).result).toEqual(done("tea"));
});

test("the same id with other arguments, or of another tool call, is another call", async () => {
  const { call, answer, server } = startChat();
  const calls = [await call("call 1", "tea"), await call("call 1", "milk"), await call("call 2")];
  expect(new Set(calls.map((each) => each.call!.id)).size).toBe(3);
  expect(server.legs).toHaveLength(3);
  await answer(calls[1]!.call!.id);
  expect(server.legs[3]!.params.arguments).toEqual({ item: "milk" });
  expect((await call("call 1", "tea")).call).toEqual(calls[0]!.call);
});

test("two runs of one step at once have one record, and the first one's state", async () => {
  const bothAreSent = createGate();
  const { call, answer, server } = startChat(async ({ params }, number) => {
    if (number === 2) bothAreSent.open();
    await bothAreSent.opened;
    return "requestState" in params ? done(params.requestState) : asks(`state ${number}`);
  });
  const [one, other] = await Promise.all([call("call 1"), call("call 1")]);
  expect(one.call).toEqual(other.call);
  expect(server.legs).toHaveLength(2);
  const { answer: settled } = await answer(one.call!.id);
  expect(settled?.result).toEqual((await call("call 1")).result);
  expect(server.legs).toHaveLength(3);
});

test("a call that was taken back fails when the step runs again", async () => {
  const { call, kept, server } = startChat();
  const { call: waiting } = await call("call 1");
  await kept.withdraw(waiting!.id);
  const error = await call("call 1").catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(McpSessionError);
  expect(error).toMatchObject({ code: "NOT_WAITING", data: { state: "withdrawn" } });
  expect(server.legs).toHaveLength(1);
});
