import { detach, onAbort } from "../base/bounded-wait.ts";

/** Limits the server's silence while a request waits for its answer. */
export interface AnswerTimeout {
  /** Aborts with the caller's signal, and when the server was silent for too long. */
  readonly signal: AbortSignal;
  /** The length of the silence that aborted the signal, in milliseconds. */
  readonly silentMs: number | undefined;
  /** Restarts the time, because something came from the server. */
  readonly heard: () => void;
  /** Called with the reason when the signal aborts: whoever waits sets it. A listener would cost more. */
  interrupt: ((reason: unknown) => void) | undefined;
  readonly stop: () => void;
}

/**
 * @param isOver whether the answer has come; a stream may stay open after it
 * @param onLeave called when the signal aborts later than now
 */
export function createAnswerTimeout(
  ms: number,
  callerSignal: AbortSignal | undefined,
  isOver: () => boolean,
  onLeave: () => void,
): AnswerTimeout {
  const controller = new AbortController();
  const { signal } = controller;
  let heardAt = performance.now();
  let silentMs: number | undefined;
  let timer: ReturnType<typeof setTimeout>;

  const leave = (reason: unknown) => {
    if (signal.aborted) return;
    controller.abort(reason);
    onLeave();
    timeout.interrupt?.(signal.reason);
  };
  const check = () => {
    if (isOver()) return;
    const left = heardAt + ms - performance.now();
    if (left > 0) return start(left);
    silentMs = ms;
    leave(new DOMException(`The server was silent for ${ms} ms.`, "TimeoutError"));
  };
  /** There is no timer for each chunk. One timer looks at the time of the last chunk. */
  const start = (left: number) => {
    timer = setTimeout(check, left);
    // A stream without a reader must not keep a Node process alive.
    detach(timer);
  };
  start(ms);
  if (callerSignal?.aborted) controller.abort(callerSignal.reason);
  const stopListening = callerSignal && onAbort(callerSignal, () => leave(callerSignal.reason));

  const timeout: AnswerTimeout = {
    signal,
    get silentMs() {
      return silentMs;
    },
    heard() {
      heardAt = performance.now();
    },
    interrupt: undefined,
    stop() {
      clearTimeout(timer);
      stopListening?.();
    },
  };
  return timeout;
}
