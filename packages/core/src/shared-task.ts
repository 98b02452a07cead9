import { abortable } from "./abortable.ts";

/**
 * Runs one task for all who ask while it is under way. A caller whose signal aborts leaves
 * without disturbing the others; when the last one leaves, the task itself is aborted.
 */
export type SharedTask<T> = (
  start: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
) => Promise<T>;

export function createSharedTask<T>(): SharedTask<T> {
  let current: { promise: Promise<T>; waiting: number; controller: AbortController } | undefined;

  return async (start, signal) => {
    signal?.throwIfAborted();
    if (current === undefined) {
      const controller = new AbortController();
      const task = { promise: start(controller.signal), waiting: 0, controller };
      current = task;
      const clear = () => {
        if (current === task) current = undefined;
      };
      task.promise.then(clear, clear);
    }
    const task = current;
    task.waiting += 1;
    try {
      return await abortable(task.promise, signal);
    } finally {
      task.waiting -= 1;
      if (task.waiting === 0 && signal?.aborted) {
        if (current === task) current = undefined;
        task.controller.abort(signal.reason);
      }
    }
  };
}
