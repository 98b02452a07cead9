import { describe, expect, test } from "vitest";
import {
  asks,
  createAskingServer,
  done,
  orders,
  principal,
  send,
  startProcess,
  startWaiting,
  url,
  watchStore,
  yes,
} from "../../test/asking-server.ts";
import { createMemoryStore, type JsonValue, McpSessionError } from "../index.ts";
import { answerWaitingCall, createWaitingCalls, type WaitingCallsOptions } from "./index.ts";

test.each<[string, Partial<WaitingCallsOptions>]>([
  ["principal", { principal: { ...principal, id: "2" } }],
  ["issuer", { principal: { ...principal, issuer: "https://other.example" } }],
  ["kind of principal", { principal: { type: "app" } }],
  ["agent session", { sessionId: "chat 2" }],
  ["agent", { agent: "other" }],
  ["connection", { connection: "bank" }],
  ["URL", { url: "https://shop.example/moved" }],
])("of another %s nobody sees, answers or withdraws a call", async (_, other) => {
  const { store, server, id, waiting } = await startWaiting();
  const theirs = startProcess(server, { ...other, store });
  expect(await theirs.waiting.list()).toEqual([]);
  expect(await theirs.waiting.find(id)).toBeUndefined();
  const refusal = { code: "NOT_WAITING", data: {} };
  await expect(theirs.answer(id)).rejects.toMatchObject(refusal);
  await expect(theirs.waiting.withdraw(id)).rejects.toMatchObject(refusal);
  expect(server.legs).toHaveLength(1);
  expect(await waiting.list()).toHaveLength(1);
});

const hangs: typeof fetch = () => new Promise(() => undefined);

test("another connection's tools that may run twice say nothing of one's own", async () => {
  const time = { now: 1_000 };
  const now = () => time.now;
  const { store, server, id, waiting, answer } = await startWaiting(orders, { now });
  void answer(id, yes, { fetch: hangs });
  await expect.poll(() => waiting.list()).toMatchObject([{ state: "answering" }]);
  time.now += 61_000;
  const other = startProcess(server, { store, now, connection: "bank", safeTools: ["order"] });
  expect(await other.waiting.list()).toEqual([]);
  expect(await waiting.find(id)).toMatchObject({ call: { state: "outcome-unknown" } });
});

describe("a call that is withdrawn", () => {
  test("takes no answer any more, and its server is not told", async () => {
    const { answer, waiting, id, server } = await startWaiting();
    expect(await waiting.withdraw(id)).toMatchObject({ id, state: "withdrawn" });
    expect(await waiting.list()).toEqual([]);
    const over = { code: "NOT_WAITING", data: { state: "withdrawn" } };
    await expect(answer(id)).rejects.toMatchObject(over);
    await expect(waiting.withdraw(id)).rejects.toMatchObject(over);
    expect(server.legs).toHaveLength(1);
  });

  test("at the same time as it is answered is the one or the other", async () => {
    const { answer, waiting, id, server } = await startWaiting();
    const both = await Promise.allSettled([waiting.withdraw(id), answer(id)]);
    expect(both.filter(({ status }) => status === "rejected")).toHaveLength(1);
    const state = server.legs.length === 1 ? "withdrawn" : "settled";
    expect(await waiting.find(id)).toMatchObject({ call: { state } });
  });
});

test.each(["", "nobody's", "x".repeat(5_000), "__proto__", undefined, null, {}])(
  "an id that no call has: %#",
  async (id) => {
    const { answer, waiting } = await startWaiting();
    const refusal = { code: "NOT_WAITING", data: {} };
    await expect(answer(id as string)).rejects.toMatchObject(refusal);
    await expect(waiting.withdraw(id as string)).rejects.toMatchObject(refusal);
    expect(await waiting.find(id as string)).toBeUndefined();
  },
);

/** The call, with another value in the store. */
async function startChanged(change: (record: any) => unknown) {
  const own = await startWaiting();
  const { records } = await own.store.list({ prefix: "[", limit: 10 });
  const [{ key, value, revision, owner }] = records as [(typeof records)[number]];
  const changed = change(structuredClone(value)) as JsonValue;
  expect(await own.store.put(key, changed, revision, { owner })).toMatchObject({ ok: true });
  return own;
}

describe("a record that somebody has changed", () => {
  test.each<[string, (record: any) => unknown]>([
    ["no object", () => "text"],
    ["null, as what cannot be decrypted", () => null],
    ["another id", (record) => ({ ...record, id: "other" })],
    ["another URL", (record) => ({ ...record, url: "https://evil.example/mcp" })],
    ["another connection", (record) => ({ ...record, connection: "bank" })],
    [
      "unknown members in a known one",
      (record) => ({ ...record, request: { ...record.request, extra: 1 } }),
    ],
    ["questions that are none", (record) => ({ ...record, requests: { confirm: "?" } })],
  ])("is no call with %s", async (_, change) => {
    const { answer, waiting, id, server } = await startChanged(change);
    expect(await waiting.list()).toEqual([]);
    await expect(answer(id)).rejects.toMatchObject({ code: "NOT_WAITING", data: {} });
    await expect(waiting.withdraw(id)).rejects.toMatchObject({ code: "NOT_WAITING" });
    expect(server.legs).toHaveLength(1);
  });

  test("by a later release is left to that release", async () => {
    const { answer, waiting, id, server } = await startChanged((record) => ({
      ...record,
      version: 3,
    }));
    await expect(waiting.list()).rejects.toMatchObject({ code: "STATE_INVALID" });
    await expect(answer(id)).rejects.toMatchObject({ code: "STATE_INVALID" });
    await expect(waiting.withdraw(id)).rejects.toMatchObject({ code: "STATE_INVALID" });
    expect(server.legs).toHaveLength(1);
  });
});

test("no state, no answer and no principal is in what an application or a log sees", async () => {
  const secret = "canary";
  const said: unknown[] = [];
  const server = createAskingServer((_, number) =>
    number === 1 ? asks(`${secret} state`) : new Response(`${secret} body`, { status: 403 }),
  );
  const { fetch, waiting, answer } = startProcess(server, {
    principal: { ...principal, id: `${secret} user` },
    onEvent: (event) => said.push(event),
    onWaiting: (call) => void said.push(call),
  });
  said.push(await send(fetch), await waiting.list());
  const [call] = await waiting.list();
  const wrong = { confirm: { action: "accept", content: { ok: `${secret} answer` } } } as const;
  for (const responses of [wrong, yes]) {
    const error = await answer(call!.id, responses).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(McpSessionError);
    said.push(String(error), (error as McpSessionError).data, String((error as Error).cause));
  }
  said.push(await waiting.find(call!.id), await waiting.withdraw(call!.id));
  expect(JSON.stringify(said)).not.toContain(secret);
});

test.each<[object, string]>([
  [{ store: {} }, "store"],
  [{ sessionId: "" }, "sessionId"],
  [{ connection: undefined }, "connection"],
  [{ url: "ftp://shop.example" }, "url"],
  [{ maxAgeMs: Number.NaN }, "maxAgeMs"],
  [{ maxRounds: 0 }, "maxRounds"],
  [{ for: [] }, "for"],
  [{ for: ["tasks"] }, "for[0]"],
  [{ afterMs: -1 }, "afterMs"],
  [{ record: "early" }, "record"],
  [{ onSettled: 1 }, "onSettled"],
  [{ onExpired: "ask" }, "onExpired"],
  [{ safeTools: "order" }, "safeTools"],
  [{ safeTools: [""] }, "safeTools[0]"],
  [{ onWaiting: 1 }, "onWaiting"],
  [{ now: 1 }, "now"],
  [{ rounds: 1 }, "rounds"],
])("refuses options of another shape: %j", (options, field) => {
  const given = { store: createMemoryStore(), sessionId: "chat", principal, connection: "shop" };
  const create = () => createWaitingCalls({ ...given, url, ...options });
  expect(create).toThrow(expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }));
});

test("refuses a missing principal, and waiting calls of another make", async () => {
  const given = { store: createMemoryStore(), sessionId: "chat", connection: "shop", url };
  expect(() => createWaitingCalls(given as WaitingCallsOptions)).toThrow(
    expect.objectContaining({ code: "PRINCIPAL_REQUIRED" }),
  );
  const { waiting, id } = await startWaiting();
  await expect(answerWaitingCall({ ...waiting }, id, yes)).rejects.toMatchObject({
    code: "CONNECTION_INVALID",
    data: { field: "waiting" },
  });
});

test("a store that cannot be read is told, and nothing is sent", async () => {
  const own = await startWaiting();
  const store = watchStore(own.store, () => {
    throw new McpSessionError("STORE_FAILED", "The store is down.");
  });
  const { answer, waiting } = startProcess(own.server, { store });
  for (const use of [() => waiting.list(), () => answer(own.id), () => waiting.withdraw(own.id)]) {
    await expect(use()).rejects.toMatchObject({ code: "STORE_FAILED" });
  }
  expect(own.server.legs).toHaveLength(1);
  expect((await own.answer(own.id)).result).toEqual(done());
});
