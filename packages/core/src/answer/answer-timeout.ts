import { onAbort, startLimit } from "../base/bounded-wait.ts";

/**
 * Limits the time without a word from the server while a request waits for its answer.
 *
 * @param isOver whether the answer has come; a stream may stay open after it
 * @param onLeave called when the signal aborts later than now
 * @param askedUntil until when a person was asked, as far as the server waits for that
 */
export function createAnswerTimeout(
  ms: number,
  callerSignal: AbortSignal | undefined,
  isOver: () => boolean,
  onLeave: () => void,
  askedUntil = () => 0,
) {
  const controller = new AbortController();
  const { signal } = controller;
  let heardAt = performance.now();
  let silentMs: number | undefined;
  let stopTimer: () => void;

  const leave = (reason: unknown) => {
    if (signal.aborted) return;
    controller.abort(reason);
    onLeave();
    timeout.interrupt?.(signal.reason);
  };
  const check = () => {
    if (isOver()) return;
    const left = Math.max(heardAt, askedUntil()) + ms - performance.now();
    if (left > 0) return start(left);
    silentMs = ms;
    leave(new DOMException(`Nothing was read from the server for ${ms} ms.`, "TimeoutError"));
  };
  /** There is no timer for each word. One timer looks at the time of the last one. */
  const start = (left: number) => {
    // A stream without a reader must not keep a Node process alive.
    stopTimer = startLimit(left, check, true);
  };
  start(ms);
  if (callerSignal?.aborted) controller.abort(callerSignal.reason);
  const stopListening = callerSignal && onAbort(callerSignal, () => leave(callerSignal.reason));

  const timeout = {
    /** Aborts with the caller's signal, and when nothing was heard of the server for too long. */
    signal,
    /** How long nothing was heard, if that aborted the signal, in milliseconds. */
    get silentMs() {
      return silentMs;
    },
    /** When the server was last heard, or when the request began. */
    get heardAt() {
      return heardAt;
    },
    /** Restarts the time, because the server gave a sign of life. */
    heard() {
      heardAt = performance.now();
    },
    /** Called with the reason when the signal aborts: whoever waits sets it. A listener would cost more. */
    interrupt: undefined as ((reason: unknown) => void) | undefined,
    stop() {
      stopTimer();
      stopListening?.();
    },
  };
  return timeout;
}

export type AnswerTimeout = ReturnType<typeof createAnswerTimeout>;
