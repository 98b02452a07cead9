import { detach } from "../base/bounded-wait.ts";

/** Bounds how long the server may be silent while a request waits for its answer. */
export interface AnswerTimeout {
  /** Aborts with the caller's signal, and when the server was silent for too long. */
  readonly signal: AbortSignal;
  /** Whether it was the silence that aborted it. */
  readonly expired: boolean;
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

  const onAbort = () => controller.abort(callerSignal?.reason);
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
  if (callerSignal?.aborted) onAbort();
  else callerSignal?.addEventListener("abort", onAbort, { once: true });

  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    heard() {
      heardAt = performance.now();
    },
    stop() {
      clearTimeout(timer);
      callerSignal?.removeEventListener("abort", onAbort);
    },
  };
}
