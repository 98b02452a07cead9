import { detach, onAbort } from "../base/bounded-wait.ts";

/** Bounds how long the server may be silent while a request waits for its answer. */
export interface AnswerTimeout {
  /** Aborts with the caller's signal, and when the server was silent for too long. */
  readonly signal: AbortSignal;
  /** How long the server was silent, in milliseconds, once that has aborted it. */
  readonly silentMs: number | undefined;
  /** Something came from the server: the time starts anew. */
  readonly heard: () => void;
  readonly stop: () => void;
}

/**
 * @param ms how long the server may be silent, in milliseconds
 * @param isOver whether the answer is there; a stream may stay open after it
 */
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
  /** Not one timer for each chunk: it looks how long ago the last one was. */
  const start = (left: number) => {
    timer = setTimeout(check, left);
    // A stream that nobody reads to its end must not keep a Node process alive.
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
