import { execFile } from "node:child_process";
import { Worker } from "node:worker_threads";
import { promisify } from "node:util";
import { getEventListeners, once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import {
  abortable,
  anySignal,
  combineSignals,
  startLimit,
  timeLimited,
  wait,
  within,
  withTimeLimit,
} from "./bounded-wait.ts";

test("gives what the promise gives, with and without a signal", async () => {
  const { signal } = new AbortController();
  expect(await abortable(Promise.resolve(1), undefined)).toBe(1);
  expect(await abortable(Promise.resolve(1), signal)).toBe(1);
  await expect(abortable(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
});

test("rejects with the signal's reason while the promise is pending", async () => {
  const controller = new AbortController();
  const waiting = abortable(new Promise(() => {}), controller.signal);
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("rejects at once with a signal that is already aborted", async () => {
  await expect(
    abortable(new Promise(() => {}), AbortSignal.abort(new Error("before"))),
  ).rejects.toThrow("before");
});

test("a time that is over ends at once, and Node warns of no negative time", async () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  await new Promise<void>((resolve) => void startLimit(-5, resolve));
  const [, ms] = timers.mock.calls[0]!;
  timers.mockRestore();
  expect(ms).toBe(0);
});

test("leaves no listener on the signal, which may outlive many promises", async () => {
  const { signal } = new AbortController();
  await abortable(Promise.resolve(1), signal);
  await abortable(Promise.reject(new Error("no")), signal).catch(() => undefined);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("swallows a rejection that comes after the abort", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  await expect(abortable(promise, AbortSignal.abort(new Error("first")))).rejects.toThrow("first");
  reject(new Error("unheard")); // An unhandled rejection fails the run.
  await new Promise((resolve) => {
    setTimeout(resolve);
  });
});

test("does work with a signal that ends with its time or the caller's, and leaves nothing", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  expect(await timeLimited(60_000, signal, async () => 1)).toBe(1);
  await expect(timeLimited(1, signal, (limit) => wait(60_000, limit))).rejects.toThrow("1 ms");
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const left = timeLimited(60_000, signal, (limit) => wait(60_000, limit));
  controller.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  await expect(timeLimited(1, signal, (limit) => wait(1, limit))).rejects.toThrow("left");
});

test("waits as long as a timer can, instead of not at all, for a longer time", async () => {
  const controller = new AbortController();
  const waiting = wait(Infinity, controller.signal);
  await wait(5);
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

const limits: [string, (ms: number, work: Promise<unknown>) => Promise<unknown>][] = [
  ["within", within],
  ["timeLimited", (ms, work) => timeLimited(ms, undefined, (signal) => abortable(work, signal))],
  ["withTimeLimit", (ms, work) => abortable(work, withTimeLimit(ms))],
];

/** Lets nothing else happen in this process. Timers come next then, and messages and sockets after them. */
async function keepBusy(ms: number) {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test.each(limits)("%s reads what has come while the process was busy", async (_, limit) => {
  const worker = new Worker(
    "setTimeout(() => require('node:worker_threads').parentPort.postMessage('answer'), 200)",
    { eval: true },
  );
  await once(worker, "online");
  const answer = once(worker, "message");
  const limited = limit(100, answer);
  await keepBusy(400);
  expect(await limited).not.toBe(false);
  expect(await answer).toEqual(["answer"]);
  await worker.terminate();
});

test.each(limits)("%s ends although the process was busy, if nothing comes", async (_, limit) => {
  const limited = limit(1, new Promise(() => undefined)).catch(() => false);
  await keepBusy(100);
  expect(await limited).toBe(false);
});

test("a limit that is stopped tells the time that it had left, some of it after its end", async () => {
  expect(startLimit(60_000, () => undefined)()).toBeGreaterThan(50_000);
  const stop = startLimit(1, () => undefined);
  await keepBusy(100);
  const left = stop();
  expect(left).toBeGreaterThan(50);
  expect(left).toBeLessThanOrEqual(1_000);
});

test("aborts with the caller's signal", () => {
  const controller = new AbortController();
  const signal = withTimeLimit(60_000, controller.signal);
  expect(signal.aborted).toBe(false);
  controller.abort("left");
  expect(signal).toMatchObject({ aborted: true, reason: "left" });
});

test("aborts after its time, also when nothing else holds it and memory is collected", async () => {
  const { href } = new URL("bounded-wait.ts", import.meta.url);
  const program = `
    import { withTimeLimit } from ${JSON.stringify(href)};
    const aborted = new Promise((resolve) => {
      withTimeLimit(200, undefined).addEventListener("abort", resolve);
    });
    gc();
    setTimeout(gc, 50);
    setTimeout(() => process.exit(1), 60_000);
    await aborted;
    console.log("aborted");
    process.exit(0);
  `;
  const flags = ["--expose-gc", "--experimental-strip-types", "--no-warnings"];
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    "--input-type=module",
    "--eval",
    program,
  ]);
  expect(stdout).toBe("aborted\n");
});

describe.each([
  ["of this runtime", anySignal],
  ["of a runtime without AbortSignal.any", (...signals: AbortSignal[]) => combineSignals(signals)],
])("a signal of several, %s", (_, any) => {
  test("aborts with the first one's reason", () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const signal = any(first.signal, second.signal);
    expect(signal.aborted).toBe(false);
    second.abort("left");
    expect(signal).toMatchObject({ aborted: true, reason: "left" });
  });

  test("is aborted from the start with one that is", () => {
    const { signal } = new AbortController();
    expect(any(signal, AbortSignal.abort("before"))).toMatchObject({ reason: "before" });
  });
});

test("a combined signal leaves no listener on the others once one aborts", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  combineSignals([first.signal, second.signal]);
  second.abort();
  combineSignals([first.signal, second.signal]);
  expect(getEventListeners(first.signal, "abort")).toEqual([]);
});

test("one signal is the signal of several, of which only one is there", () => {
  const { signal } = new AbortController();
  expect(anySignal(undefined, signal)).toBe(signal);
});
