import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPostgresNotices, type ListenToPostgres } from "./notices.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("tries again after a listen that failed, and tells all when it hears", async () => {
  const tries: (() => void)[] = [];
  const ends: (() => void)[] = [];
  let stops = 0;
  const listen: ListenToPostgres = (_, __, onReady, onEnd) => {
    tries.push(onReady);
    ends.push(onEnd);
    if (tries.length === 1) throw new Error("no connection");
    if (tries.length === 2) return Promise.reject(new Error("no connection"));
    onReady();
    return () => void (stops += 1);
  };
  const calls: string[] = [];
  const subscribe = createPostgresNotices(listen, "channel");
  for (const topic of ["a", "b"]) subscribe(topic, () => calls.push(topic));
  await vi.advanceTimersByTimeAsync(0);
  // What has failed says nothing any more.
  tries[0]!();
  expect(calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(tries).toHaveLength(3);
  expect(calls).toEqual(["a", "b"]);
  // After a gap.
  tries[2]!();
  expect(calls).toEqual(["a", "b", "a", "b"]);
  // It is stopped and begun again when it has ended, which it may say twice.
  ends[2]!();
  ends[2]!();
  await vi.advanceTimersByTimeAsync(200);
  expect([tries.length, stops]).toEqual([4, 1]);
  expect(calls).toHaveLength(6);
});

test("stops a while after its last subscriber, and what begins late at once", async () => {
  const open: ((stop: () => void) => void)[] = [];
  const listen: ListenToPostgres = () =>
    new Promise((resolve) => {
      open.push(resolve);
    });
  const stops: number[] = [];
  const subscribe = createPostgresNotices(listen, "channel");
  subscribe("a", () => undefined)();
  subscribe("b", () => undefined)();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(open).toHaveLength(1);
  const end = subscribe("a", () => undefined);
  await vi.advanceTimersByTimeAsync(0);
  expect(open).toHaveLength(2);
  open[0]!(() => stops.push(0));
  open[1]!(() => {
    stops.push(1);
    throw new Error("it has gone");
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stops).toEqual([0]);
  end();
  await vi.advanceTimersByTimeAsync(500);
  subscribe("a", () => undefined)();
  await vi.advanceTimersByTimeAsync(900);
  expect(stops).toEqual([0]);
  await vi.advanceTimersByTimeAsync(200);
  expect(stops).toEqual([0, 1]);
});
