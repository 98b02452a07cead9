import { noAnswer, startLimit } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { storeFailure } from "./store-failure.ts";

/** One operation, while it is tried. */
export interface StoreAttempt {
  /** Aborts when the time is up. */
  readonly signal: AbortSignal | undefined;
  /** Says that a write was not done, and that the rest of the operation only reads. */
  readonly isRead: () => void;
}

/**
 * Runs one operation of a store. If `get` or `list` fails, the message says that nothing was changed.
 *
 * @param timeoutMs in milliseconds; after that it rejects, although the operation may still be done
 * @throws {McpSessionError} `STORE_FAILED` with the error of `run` as its cause, unless that error is an
 *   `McpSessionError` already
 */
export async function attemptInStore<T>(
  store: string,
  operation: string,
  run: (attempt: StoreAttempt) => T,
  timeoutMs = Infinity,
): Promise<Awaited<T>> {
  let onlyReads = operation === "get" || operation === "list";
  const isRead = () => {
    onlyReads = true;
  };
  try {
    if (timeoutMs === Infinity) return await run({ signal: undefined, isRead });
    return await inTime(timeoutMs, async (signal) => await run({ signal, isRead }));
  } catch (cause) {
    if (McpSessionError.isInstance(cause)) throw cause;
    throw storeFailure(store, operation, cause, onlyReads);
  }
}

/** As `timeLimited`, for one caller that waits no longer: a store does this for each of its calls. */
function inTime<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  return new Promise((resolve, reject) => {
    const stop = startLimit(ms, () => {
      const late = noAnswer(ms);
      limit.abort(late);
      reject(late);
    });
    work(limit.signal).finally(stop).then(resolve, reject);
  });
}
