import { describe, expect, test } from "vitest";
import {
  asks,
  createAskingServer,
  done,
  type Leg,
  orders,
  send,
  startProcess,
  startWaiting,
  yes,
} from "../../test/asking-server.ts";
import type { StoredRecord } from "../index.ts";
import { type WaitingCallEvent, type WaitingEvent, waitingCallOf } from "./index.ts";

const expired = { code: -32_602, message: "Invalid.", data: { reason: "invalid_request_state" } };
const expiredAnswer = ({ id }: Leg, status: number) =>
  Response.json({ jsonrpc: "2.0", id, error: expired }, { status });

test("a call takes as many rounds as the server asks, one leg each", async () => {
  const events: WaitingEvent[] = [];
  const { answer, waiting, id, server } = await startWaiting(
    (_, number) => (number < 4 ? asks(`state ${number}`) : done()),
    { onEvent: (event) => events.push(event) },
  );
  for (const round of [2, 3]) {
    expect(await answer(id)).toMatchObject({ call: { state: "waiting", round } });
    expect(await waiting.list()).toMatchObject([{ id, round }]);
  }
  expect(await answer(id)).toMatchObject({ call: { state: "settled" }, result: done() });
  expect(server.legs.map(({ params }) => params.requestState)).toEqual([
    ...[undefined, "state 1", "state 2", "state 3"],
  ]);
  const told = { type: "waiting-call", tool: "order" };
  expect(events).toEqual([
    { ...told, round: 1, state: "waiting" },
    { ...told, round: 2, state: "waiting" },
    { ...told, round: 3, state: "waiting" },
    { ...told, round: 3, state: "settled" },
  ]);
});

test("an answer to an earlier round answers no other, and nothing is sent", async () => {
  const { answer, id, server } = await startWaiting(() => asks("s"));
  await answer(id, yes, { round: 1 });
  await expect(answer(id, yes, { round: 1 })).rejects.toMatchObject({
    code: "NOT_WAITING",
    data: { state: "waiting" },
  });
  expect(server.legs).toHaveLength(2);
});

test("what was checked is sent, whatever the answers say the next time they are read", async () => {
  const { answer, id, server } = await startWaiting(orders);
  let reads = 0;
  const shifting = {
    get confirm() {
      reads += 1;
      return { action: "accept", content: { ok: reads === 1 ? true : "DROP TABLE" } } as const;
    },
  };
  expect(await answer(id, shifting)).toMatchObject({ call: { state: "settled" } });
  expect(server.legs[1]!.params.inputResponses).toEqual(yes);
});

test("answers that do not fit are not sent, and the questions wait", async () => {
  const { answer, waiting, id, server } = await startWaiting(orders);
  const wrong = { confirm: { action: "accept", content: { ok: "yes" } } } as const;
  await expect(answer(id, wrong)).rejects.toMatchObject({
    code: "INPUT_INVALID",
    data: { field: "confirm.content.ok" },
  });
  expect(server.legs).toHaveLength(1);
  expect(await waiting.list()).toMatchObject([{ state: "waiting" }]);
});

test.each([
  [undefined, 10],
  [1, 1],
  [12, 12],
])("more rounds than allowed (%s) settle the call with an error", async (maxRounds, allowed) => {
  const { answer, id, server } = await startWaiting(() => asks("s"), { maxRounds });
  for (let round = 2; round <= allowed; round += 1) await answer(id);
  expect(await answer(id)).toMatchObject({
    call: { state: "settled", round: allowed },
    error: { message: `The server asked for input more than ${allowed} times for one call.` },
  });
  expect(server.legs).toHaveLength(allowed + 1);
});

test("a question too long to be kept settles the call with an error", async () => {
  const { answer, id } = await startWaiting((_, number) => asks("s".repeat(number * 400_000)));
  expect(await answer(id)).toMatchObject({
    call: { state: "settled" },
    error: { message: expect.stringContaining("more than the 500000 characters that can wait") },
  });
});

describe("questions that have expired for the server", () => {
  test.each([200, 400])("end the call, with HTTP %i", async (status) => {
    const { answer, waiting, id, server } = await startWaiting((leg, number) =>
      number === 1 ? asks("s") : expiredAnswer(leg, status),
    );
    const answered = await answer(id);
    expect(answered.call.state).toBe("expired");
    expect(answered).not.toHaveProperty("error");
    expect(await answer(id)).toEqual(answered);
    expect(await waiting.list()).toEqual([]);
    expect(server.legs).toHaveLength(2);
  });

  test("are asked again if it shall be so, and the old answer is not used again", async () => {
    const { answer, id, server } = await startWaiting(
      (leg, number) => [asks("old"), expiredAnswer(leg, 200), asks("new"), done()][number - 1]!,
      { onExpired: "ask-again" },
    );
    expect(await answer(id)).toMatchObject({ call: { state: "waiting", round: 2 } });
    expect(server.legs).toHaveLength(3);
    const { params: again } = server.legs[2]!;
    expect(again).toEqual({ ...server.legs[0]!.params });
    expect(await answer(id)).toMatchObject({ call: { state: "settled" } });
    expect(server.legs[3]!.params).toMatchObject({ requestState: "new", inputResponses: yes });
  });
});

describe("questions that are too old for the application", () => {
  const maxAgeMs = 5_000;

  test.each(["list", "find"] as const)(
    "end the call, and late answers are told so, after %s and without it",
    async (look) => {
      for (const isLookedAt of [false, true]) {
        const told: string[] = [];
        const onEvent = (event: WaitingEvent) => void told.push((event as WaitingCallEvent).state);
        const options = { maxAgeMs, onEvent };
        const { answer, waiting, time, id, server } = await startWaiting(orders, options);
        expect(await waiting.list()).toMatchObject([{ expiresAt: 6_000 }]);
        time.now = 6_000;
        if (isLookedAt) await waiting[look](id);
        expect(await answer(id)).toMatchObject({ call: { state: "expired" } });
        expect(await answer(id)).toMatchObject({ call: { state: "expired" } });
        expect(await waiting.find(id)).toMatchObject({ call: { state: "expired" } });
        expect(await waiting.list()).toEqual([]);
        expect(server.legs).toHaveLength(1);
        expect(told).toEqual(["waiting", "expired"]);
      }
    },
  );

  test("are asked again if it shall be so, and the answer is not used", async () => {
    const { answer, waiting, time, id, server } = await startWaiting(() => asks("s"), {
      maxAgeMs,
      onExpired: "ask-again",
    });
    time.now = 6_000;
    expect(await waiting.list()).toMatchObject([{ state: "waiting", expiresAt: 6_000 }]);
    const { call } = await answer(id, { nobody: { action: "cancel" } });
    expect(call).toMatchObject({ state: "waiting", round: 2, expiresAt: 11_000 });
    expect(server.legs[1]!.params).not.toHaveProperty("inputResponses");
    expect(server.legs[1]!.params).not.toHaveProperty("requestState");
  });

  test("the age counts from the last round", async () => {
    const { answer, time, id } = await startWaiting(() => asks("s"), { maxAgeMs });
    time.now = 5_000;
    expect(await answer(id)).toMatchObject({ call: { round: 2, expiresAt: 10_000 } });
  });
});

test("questions of one step wait side by side, each with its own answer", async () => {
  const server = createAskingServer(({ params }) =>
    "requestState" in params ? done(params.requestState) : asks(params.arguments.item),
  );
  const { fetch, waiting, answer } = startProcess(server);
  const items = ["tea", "milk", "sugar", "tea"];
  const results = await Promise.all(
    items.map((item, id) => send(fetch, { id, params: { name: "order", arguments: { item } } })),
  );
  const calls = results.map(({ result }) => waitingCallOf(result)!);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(4);
  expect(await waiting.list()).toHaveLength(4);
  const answered = await Promise.all(calls.map(({ id }) => answer(id)));
  expect(answered.map(({ result }) => result)).toEqual(items.map((item) => done(item)));
});

test("the fields that a later release has added to a record survive each round, and its end", async () => {
  const { answer, id, store } = await startWaiting((_, number) =>
    number < 3 ? asks("s") : done(),
  );
  const { records } = await store.list({ prefix: "[", limit: 1 });
  const [{ key, owner, value, revision }] = records as [StoredRecord];
  const hint = { of: "a later release" };
  await store.put(key, { ...(value as object), hint }, revision, { owner });
  for (const state of ["waiting", "settled"]) {
    expect(await answer(id)).toMatchObject({ call: { state } });
    expect((await store.get(key))?.value).toMatchObject({ state, hint });
  }
});
