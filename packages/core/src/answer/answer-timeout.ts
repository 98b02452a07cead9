import { detach, onAbort } from "../base/bounded-wait.ts";

/** Limits the server's silence while a request waits for its answer. */
export interface AnswerTimeout {
  /** Aborts with the caller's signal, and when the server was silent for too long. */
  readonly signal: AbortSignal;
  /** The length of the silence that aborted the signal, in milliseconds. */
  readonly silentMs: number | undefined;
  /** Restarts the time, because something came from the server. */
  readonly heard: () => void;
  readonly stop: () => void;
}

/** @param isOver whether the answer has come; a stream may stay open after it */
export function createAnswerTimeout(
  ms: number,
  callerSignal: AbortSignal | undefined,
  isOver: () => boolean,
): AnswerTimeout {
  const controller = new AbortController();
  let heardAt = performance.now();
  let expired = false;
  let timer: ReturnType<typeof setTimeout>;

  const check = () => {
    if (isOver()) return;
    const left = heardAt + ms - performance.now();
    if (left > 0) return start(left);
    expired = true;
    controller.abort(new DOMException(`The server was silent for ${ms} ms.`, "TimeoutError"));
  };
  /** There is no timer for each chunk. One timer looks at the time of the last chunk. */
  const start = (left: number) => {
    timer = setTimeout(check, left);
    // A stream without a reader must not keep a Node process alive.
    detach(timer);
  };
  start(ms);
  const leave = () => controller.abort(callerSignal?.reason);
  if (callerSignal?.aborted) leave();
  const stopListening = onAbort(callerSignal, leave);

  return {
    signal: controller.signal,
    get silentMs() {
      return expired ? ms : undefined;
    },
    heard() {
      heardAt = performance.now();
    },
    stop() {
      clearTimeout(timer);
      stopListening();
    },
  };
}
