/** The longest time a timer can be set to, in milliseconds. A longer one ends at once. */
export const maxTimerMs = 2_147_483_647;

/** Lets a Node process end while the timer runs. Other runtimes need nothing of the kind. */
export function detach(timer: ReturnType<typeof setTimeout>): void {
  (timer as { unref?: () => void }).unref?.();
}

/** How long an answer that has arrived may take to be read, in milliseconds. */
const maxGraceMs = 1_000;

/**
 * Calls `end` once, after `ms` milliseconds. A process that stood still finds its timers due before it has read its
 * sockets. So a timer that fires late is set once more, for as long as it was late and a second at most, and what has
 * arrived is read first.
 *
 * @param isDetached whether a Node process may end meanwhile
 * @returns stops it, and returns the time that was left, in milliseconds
 */
export function startLimit(ms: number, end: () => void, isDetached = false): () => number {
  let isLast = false;
  let dueAt: number;
  let timer: ReturnType<typeof setTimeout>;
  const start = (leftMs: number) => {
    dueAt = performance.now() + leftMs;
    timer = setTimeout(look, leftMs);
    if (isDetached) detach(timer);
  };
  const leftMs = () => {
    const ownMs = dueAt - performance.now();
    return ownMs > 0 || isLast ? Math.max(ownMs, 0) : Math.min(-ownMs, maxGraceMs);
  };
  const look = () => {
    // A timer may fire a fraction of a millisecond early.
    const graceMs = performance.now() < dueAt ? 0 : leftMs();
    if (graceMs === 0) return end();
    isLast = true;
    start(graceMs);
  };
  start(Math.min(Math.max(ms, 0), maxTimerMs));
  return () => {
    clearTimeout(timer);
    return leftMs();
  };
}

/** Calls `listener` once when the signal aborts. Returns a function that stops listening. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/** Waits for `work`, or rejects with the signal's reason as soon as it aborts. `work` itself continues. */
export function abortable<T>(
  work: T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const promise = Promise.resolve(work);
  const isDone = typeof (work as { then?: unknown } | null | undefined)?.then !== "function";
  if (signal === undefined || (isDone && !signal.aborted)) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const stop = onAbort(signal, () => reject(signal.reason));
    const settle =
      <V>(end: (value: V) => void) =>
      (value: V) => {
        stop();
        end(value);
      };
    promise.then(settle(resolve), settle(reject));
  });
}

/** Waits for `ms` milliseconds, or rejects with the signal's reason as soon as it aborts. */
export async function wait(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.min(ms, maxTimerMs));
  await abortable(promise, signal).finally(() => clearTimeout(timer));
}

/** Waits for `work`, but no longer than `ms` milliseconds. Returns whether `work` was done in time. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = Promise.withResolvers<false>();
  const stop = startLimit(ms, () => over.resolve(false));
  return await Promise.race([work.then(() => true), over.promise]).finally(stop);
}

/** A signal that aborts with the first of these. */
export function anySignal(...given: readonly (AbortSignal | undefined)[]): AbortSignal {
  const signals = given.filter((signal) => signal !== undefined);
  if (signals.length === 1) return signals[0]!;
  // Next's edge runtime does not have it.
  return typeof AbortSignal.any === "function" ? AbortSignal.any(signals) : combineSignals(signals);
}

/** Does what `AbortSignal.any` does. It keeps a listener on each signal until one aborts. */
export function combineSignals(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  const stops: (() => void)[] = [];
  for (const signal of signals) {
    const leave = () => {
      for (const stop of stops) stop();
      controller.abort(signal.reason);
    };
    if (signal.aborted) {
      leave();
      break;
    }
    stops.push(onAbort(signal, leave));
  }
  return controller.signal;
}

/**
 * Does `work` with a signal that aborts with `signal`, or after `ms` milliseconds. Nothing of it is left
 * when the work is done. (`withTimeLimit` keeps its timer for all of the time.)
 *
 * @param reason the signal's reason when the time is over. @default a `TimeoutError`
 * @param start starts the time, which may stand still
 */
export async function timeLimited<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  reason?: DOMException,
  start: (ms: number, end: () => void) => () => unknown = startLimit,
): Promise<T> {
  const limit = new AbortController();
  const stopTimer = start(ms, () => limit.abort(reason ?? noAnswer(ms)));
  const leave = () => limit.abort(signal?.reason);
  if (signal?.aborted) leave();
  const stop = onAbort(signal, leave);
  try {
    return await work(limit.signal);
  } finally {
    stopTimer();
    stop();
  }
}

/** A signal that aborts with `signal`, or after `ms` milliseconds. */
export function withTimeLimit(ms: number, signal?: AbortSignal): AbortSignal {
  const limit = new AbortController();
  startLimit(ms, () => limit.abort(noAnswer(ms)), true);
  return anySignal(limit.signal, signal);
}

export function noAnswer(ms: number): DOMException {
  return new DOMException(`No answer within ${ms} ms.`, "TimeoutError");
}

/**
 * Tries what nobody else can do, again and again for `ms` milliseconds, and once more after that.
 *
 * @param isFinal whether an error comes however often it is tried
 * @throws the error of the last attempt
 */
export async function tryInsistently<T>(
  ms: number,
  attempt: () => Promise<T>,
  isFinal = (_error: unknown) => false,
): Promise<T> {
  return await timeLimited(ms, undefined, async (signal) => {
    for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, 1_000)) {
      const isLast = signal.aborted;
      try {
        return await attempt();
      } catch (error) {
        if (isLast || isFinal(error)) throw error;
        await wait(pauseMs, signal).catch(() => undefined);
      }
    }
  });
}
