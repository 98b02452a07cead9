import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  asks,
  createAskingServer,
  createGate,
  done,
  orders,
  passTime,
  send,
  startProcess,
  watchStore,
} from "../../../test/asking-server.ts";
import { createMemoryStore, McpSessionError } from "../../index.ts";
import type { WaitingCall, WaitingCallsOptions } from "../index.ts";

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A call that waits, and a server whose second leg takes until the gate is open. */
async function startSlow(
  options: Partial<WaitingCallsOptions> = {},
  optionsElsewhere: Partial<WaitingCallsOptions> = options,
  before: (operation: string) => void = () => undefined,
) {
  const gate = createGate();
  const server = createAskingServer(async (_, number) => {
    if (number === 1) return asks("state 1");
    if (number === 2) await gate.opened;
    return done(`leg ${number}`);
  });
  const memory = createMemoryStore({ now: Date.now });
  let isDead = false;
  const store = watchStore(memory, (name) => {
    if (isDead && name === "touch") throw new Error("Dead processes touch nothing.");
    before(name);
  });
  const own = startProcess(server, { ...options, store });
  await send(own.fetch);
  const [call] = await own.waiting.list();
  const other = startProcess(server, { ...optionsElsewhere, store: memory });
  return {
    ...{ gate, server, other: other.waiting, id: call!.id },
    /** The process that answers gives no sign of life any more. */
    die: () => void (isDead = true),
    answer: () => own.answer(call!.id),
    answerElsewhere: () => other.answer(call!.id),
    /** The second leg is with the server. */
    isSent: () => vi.waitFor(() => expect(server.legs).toHaveLength(2)),
  };
}

const anHourAhead = () => Date.now() + 3_600_000;

test("of two answers at once one is sent", async () => {
  const { server, gate, answer, answerElsewhere } = await startSlow();
  gate.open();
  const answers = await Promise.allSettled([answer(), answerElsewhere()]);
  expect(server.legs).toHaveLength(2);
  expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const refused = answers.find(({ status }) => status === "rejected") as PromiseRejectedResult;
  expect(refused.reason).toMatchObject({ code: "NOT_WAITING" });
});

test("while one answer is on its way, a second is refused and the call cannot be withdrawn", async () => {
  const { server, gate, answer, answerElsewhere, isSent, other, id } = await startSlow();
  const first = answer();
  await isSent();
  expect(await other.list()).toMatchObject([{ state: "answering" }]);
  const refusal = { code: "NOT_WAITING", data: { state: "answering" } };
  await expect(answerElsewhere()).rejects.toMatchObject(refusal);
  await expect(other.withdraw(id)).rejects.toMatchObject(refusal);
  gate.open();
  expect(await first).toMatchObject({ call: { state: "settled" }, result: done("leg 2") });
  expect(server.legs).toHaveLength(2);
});

describe("a process that dies while it answers", () => {
  test("leaves a call of which nobody knows whether it was carried out", async () => {
    const { server, answer, answerElsewhere, isSent, die, other, id } = await startSlow();
    void answer();
    await isSent();
    die();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(await other.list()).toMatchObject([{ state: "answering" }]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await other.list()).toEqual([]);
    expect(await other.find(id)).toMatchObject({ call: { state: "outcome-unknown" } });
    await expect(answerElsewhere()).rejects.toMatchObject({
      code: "NOT_WAITING",
      data: { state: "outcome-unknown" },
    });
    expect(server.legs).toHaveLength(2);
  });

  test("leaves the questions of a tool that may run twice", async () => {
    const { answer, answerElsewhere, isSent, die, other } = await startSlow({
      safeTools: ["order"],
    });
    void answer();
    await isSent();
    die();
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await other.list()).toMatchObject([{ state: "waiting", round: 1 }]);
    const answered = await answerElsewhere();
    expect(answered).toMatchObject({ call: { state: "settled" }, result: done("leg 3") });
  });

  test("is not waited for any longer because its clock was ahead", async () => {
    const { answer, isSent, die, other, id } = await startSlow({ now: anHourAhead }, {});
    void answer();
    await isSent();
    die();
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await other.find(id)).toMatchObject({ call: { state: "outcome-unknown" } });
  });
});

test.each([
  ["however long its server takes", () => Date.now()],
  ["though the store's clock is ahead of its own", () => Date.now() - 3_600_000],
])("a process that lives is waited for, %s", async (_, now) => {
  const { gate, answer, isSent, other } = await startSlow({ now });
  const answered = answer();
  await isSent();
  for (let minutes = 0; minutes < 4; minutes += 1) {
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await other.list()).toMatchObject([{ state: "answering" }]);
  }
  gate.open();
  expect(await answered).toMatchObject({ call: { state: "settled" } });
});

test("an answer that is waited for too long has an unknown outcome", async () => {
  const { answer, isSent } = await startSlow();
  const answered = answer();
  await isSent();
  await vi.advanceTimersByTimeAsync(300_000);
  expect(await answered).toMatchObject({ call: { state: "outcome-unknown" } });
});

describe("the late end of a leg that was given up for dead", () => {
  test("is what became of the call", async () => {
    const { gate, answer, isSent, die, other, id } = await startSlow();
    const answered = answer();
    await isSent();
    die();
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await other.find(id)).toMatchObject({ call: { state: "outcome-unknown" } });
    gate.open();
    expect(await answered).toMatchObject({ call: { state: "settled" }, result: done("leg 2") });
    expect(await other.find(id)).toMatchObject({ call: { state: "settled" } });
  });

  test("is nothing to a call that was withdrawn or answered since", async () => {
    for (const next of ["withdrawn", "settled"] as const) {
      const { gate, answer, answerElsewhere, isSent, die, other, id } = await startSlow({
        safeTools: ["order"],
      });
      const answered = answer();
      await isSent();
      die();
      await vi.advanceTimersByTimeAsync(61_000);
      if (next === "withdrawn") await other.withdraw(id);
      else await answerElsewhere();
      gate.open();
      const { call, result } = await answered;
      expect(call.state).toBe(next);
      expect(result).toEqual(next === "settled" ? done("leg 3") : undefined);
    }
  });
});

const down = () => new McpSessionError("STORE_FAILED", "The store is down.");

describe("a store that fails", () => {
  test("at the claim: nothing is sent, and the questions wait", async () => {
    for (const isWritten of [false, true]) {
      const memory = createMemoryStore();
      let fails = false;
      const store = watchStore(memory, async (name, ...args) => {
        if (name !== "put" || !fails || !String(args[0]).startsWith("[")) return;
        fails = false;
        if (isWritten) await memory.put(...(args as Parameters<typeof memory.put>));
        throw down();
      });
      const server = createAskingServer(orders);
      const own = startProcess(server, { store });
      await send(own.fetch);
      const [call] = await own.waiting.list();
      fails = true;
      const answer = () => own.answer(call!.id);
      await expect(answer()).rejects.toMatchObject({ code: "STORE_FAILED" });
      expect(server.legs).toHaveLength(1);
      expect(await own.waiting.list()).toMatchObject([{ state: "waiting" }]);
      expect(await answer()).toMatchObject({ call: { state: "settled" } });
    }
  });

  test("for a moment after the leg: the answer is kept, and told once", async () => {
    for (const isWritten of [false, true]) {
      const memory = createMemoryStore();
      let failures = 0;
      const store = watchStore(memory, async (name, ...args) => {
        if (name !== "put" || failures === 0) return;
        failures -= 1;
        if (isWritten) await memory.put(...(args as Parameters<typeof memory.put>));
        throw down();
      });
      const server = createAskingServer((_, number) => {
        if (number === 2) failures = 2;
        return asks(`state ${number}`);
      });
      const onWaiting = vi.fn<(call: WaitingCall) => void>();
      const own = startProcess(server, { store, onWaiting });
      await send(own.fetch);
      const [call] = await own.waiting.list();
      const answered = own.answer(call!.id);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await answered).toMatchObject({ call: { state: "waiting", round: 2 } });
      expect(await own.waiting.list()).toMatchObject([{ state: "waiting", round: 2 }]);
      expect(onWaiting.mock.calls.map(([{ round }]) => round)).toEqual([1, 2]);
    }
  });

  test("for some seconds after the leg: the answer is kept, though others gave the call up", async () => {
    let failures = 0;
    const { gate, answer, isSent, die, other, id } = await startSlow({}, {}, (name) => {
      if (name !== "put" || failures === 0) return;
      failures -= 1;
      throw down();
    });
    const answered = answer();
    await isSent();
    die();
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await other.find(id)).toMatchObject({ call: { state: "outcome-unknown" } });
    failures = 6;
    gate.open();
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await answered).toMatchObject({ call: { state: "settled" }, result: done("leg 2") });
    expect(await other.find(id)).toMatchObject({ call: { state: "settled" } });
  });

  test("for good after the leg: it is said, and the outcome is unknown", async () => {
    let isDown = false;
    const store = watchStore(createMemoryStore(), (name) => {
      if (isDown && name === "put") throw down();
    });
    const server = createAskingServer((_, number) => {
      isDown = number === 2;
      return number === 1 ? asks("s") : done();
    });
    const own = startProcess(server, { store });
    await send(own.fetch);
    const [call] = await own.waiting.list();
    const answered = own.answer(call!.id);
    await expect(passTime(answered)).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringContaining("the store has not taken what became of it"),
      cause: { code: "STORE_FAILED" },
    });
    isDown = false;
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await own.waiting.find(call!.id)).toMatchObject({ call: { state: "outcome-unknown" } });
    expect(server.legs).toHaveLength(2);
  });
});
