import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { abortable } from "./abortable.ts";

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
