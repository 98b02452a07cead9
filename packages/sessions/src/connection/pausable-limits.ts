import { abortable, noAnswer, startLimit } from "@durable-mcp/core/internal";

/** The time limits of one connection. They stand still while a store saves its session, or a person is asked. */
export interface PausableLimits {
  /** Runs work whose time does not count. */
  readonly paused: <T>(work: () => T | PromiseLike<T>) => Promise<T>;
  /** Calls `end` after `ms` milliseconds that count. @returns stops it */
  readonly start: (ms: number, end: () => void, isDetached?: boolean) => () => void;
  /**
   * Runs work for at most `ms` milliseconds that count, and until `signal` aborts.
   *
   * @throws the signal's reason; a `TimeoutError` when the time is up
   */
  readonly limited: <T>(
    ms: number,
    signal: AbortSignal,
    work: (bounded: AbortSignal) => PromiseLike<T>,
  ) => Promise<T>;
}

export function createPausableLimits(): PausableLimits {
  const limits = new Set<ReturnType<typeof createLimit>>();
  let pauses = 0;
  const start: PausableLimits["start"] = (ms, end, isDetached = false) => {
    const limit = createLimit(ms, end, isDetached);
    limits.add(limit);
    if (pauses === 0) limit.start();
    return () => {
      limit.stop();
      limits.delete(limit);
    };
  };
  return {
    start,
    async paused(work) {
      if (pauses === 0) for (const limit of limits) limit.stop();
      pauses += 1;
      try {
        return await work();
      } finally {
        pauses -= 1;
        if (pauses === 0) for (const limit of limits) limit.start();
      }
    },
    async limited(ms, signal, work) {
      signal.throwIfAborted();
      const over = new AbortController();
      // No signal for all of the step: some clients take its abort for that of a request that is done.
      const leave = () => over.abort(signal.reason);
      signal.addEventListener("abort", leave, { once: true });
      const stop = start(ms, () => over.abort(noAnswer(ms)), true);
      try {
        return await abortable(work(over.signal), over.signal);
      } finally {
        stop();
        signal.removeEventListener("abort", leave);
      }
    },
  };
}

/** A timer that can be stopped and started again. */
function createLimit(ms: number, end: () => void, isDetached: boolean) {
  let leftMs = ms;
  let stop: (() => number) | undefined;
  return {
    start() {
      stop = startLimit(leftMs, end, isDetached);
    },
    stop() {
      leftMs = stop?.() ?? leftMs;
      stop = undefined;
    },
  };
}
