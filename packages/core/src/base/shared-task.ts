import { abortable } from "./bounded-wait.ts";

/**
 * Runs one task for all callers that come while it is under way. A caller whose signal aborts leaves
 * without disturbing the others. When the last caller leaves, the task itself is aborted, unless it has
 * called `finish`. Then it runs to its end, and callers that come meanwhile get its result.
 */
export interface SharedTask<T> {
  (start: Start<T>, signal: AbortSignal | undefined): Promise<T>;
  /** The task under way. */
  readonly current: Promise<unknown> | undefined;
}

type Start<T> = (signal: AbortSignal, finish: () => void) => Promise<T>;

export function createSharedTask<T>(): SharedTask<T> {
  let current:
    | { promise: Promise<T>; waiting: number; abort: (reason: unknown) => void }
    | undefined;

  const begin = (start: Start<T>) => {
    const controller = new AbortController();
    let isFinishing = false;
    const promise = start(controller.signal, () => {
      isFinishing = true;
    });
    const clear = () => {
      if (current === task) current = undefined;
    };
    const abort = (reason: unknown) => {
      if (isFinishing) return;
      clear();
      controller.abort(reason);
    };
    const task = { promise, waiting: 0, abort };
    promise.then(clear, clear);
    return task;
  };

  const run = async (start: Start<T>, signal: AbortSignal | undefined): Promise<T> => {
    signal?.throwIfAborted();
    const task = (current ??= begin(start));
    task.waiting += 1;
    try {
      return await abortable(task.promise, signal);
    } finally {
      task.waiting -= 1;
      if (task.waiting === 0 && signal?.aborted) task.abort(signal.reason);
    }
  };

  return Object.defineProperty(run, "current", { get: () => current?.promise }) as SharedTask<T>;
}
