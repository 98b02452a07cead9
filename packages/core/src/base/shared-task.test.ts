import { expect, test } from "vitest";
import { createSharedTask } from "./shared-task.ts";

function createDeferredTask() {
  const share = createSharedTask<string>();
  const runs: {
    signal: AbortSignal;
    resolve: (value: string) => void;
    reject: (e: Error) => void;
  }[] = [];
  const run = (signal?: AbortSignal) =>
    share(async (taskSignal) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      runs.push({ signal: taskSignal, resolve, reject });
      return await promise;
    }, signal);
  return { run, runs };
}

test("runs once for all who ask while it is under way, and again afterwards", async () => {
  const { run, runs } = createDeferredTask();
  const first = [run(), run()];
  runs[0]?.resolve("a");
  expect(await Promise.all(first)).toEqual(["a", "a"]);
  const next = run();
  runs[1]?.resolve("b");
  expect(await next).toBe("b");
  expect(runs).toHaveLength(2);
});

test("lets one leave without disturbing the others", async () => {
  const { run, runs } = createDeferredTask();
  const leaving = new AbortController();
  const left = run(leaving.signal);
  const staying = run(new AbortController().signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  expect(runs[0]?.signal.aborted).toBe(false);
  runs[0]?.resolve("a");
  expect(await staying).toBe("a");
});

test("aborts the task when the last one leaves, and the next one starts anew", async () => {
  const { run, runs } = createDeferredTask();
  const controllers = [new AbortController(), new AbortController()];
  const all = controllers.map(({ signal }) => run(signal));
  for (const controller of controllers) controller.abort(new Error("left"));
  await Promise.allSettled(all);
  expect(runs[0]?.signal.aborted).toBe(true);
  const next = run();
  runs[0]?.resolve("too late");
  runs[1]?.resolve("b");
  expect(await next).toBe("b");
});

test("runs to its end once it is finishing, and who asks meanwhile gets its result", async () => {
  const task = createSharedTask<string>();
  const done = Promise.withResolvers<string>();
  let starts = 0;
  let aborted = false;
  const start = (signal: AbortSignal, finish: () => void) => {
    starts += 1;
    signal.addEventListener("abort", () => (aborted = true));
    finish();
    return done.promise;
  };
  const controller = new AbortController();
  const first = task(start, controller.signal);
  controller.abort(new Error("left"));
  await expect(first).rejects.toThrow("left");
  const second = task(start, undefined);
  done.resolve("saved");
  expect([await second, starts, aborted]).toEqual(["saved", 1, false]);
  await task.current;
  expect(task.current).toBeUndefined();
});
