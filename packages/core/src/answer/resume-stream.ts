import { letGo } from "../wire/read-answer.ts";
import { abortable } from "../base/bounded-wait.ts";
import { isEventStream } from "../wire/read-answer.ts";
import { wait } from "../base/bounded-wait.ts";

/** The waiting time before the first `retry` field, in milliseconds. */
const defaultRetryMs = 1000;
/** A stream may be resumed this often in a row without a new event. */
const maxAttempts = 10;

/**
 * Continues an interrupted answer stream: GET with `Last-Event-ID`, after `retry` milliseconds. Returns
 * `undefined` if the server does not offer it, if the server asks to wait for longer than `maxRetryMs`
 * (reconnecting earlier is forbidden), or after ten attempts without a new event.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export function createStreamResumption(
  get: (lastEventId: string, signal: AbortSignal) => Promise<Response>,
  signals: readonly AbortSignal[],
  maxRetryMs: number,
): (
  lastEventId: string,
  retryMs: number | undefined,
) => Promise<ReadableStream<Uint8Array> | undefined> {
  let attempts = 0;
  let resumedFrom: string | undefined;

  return async (lastEventId, retryMs = defaultRetryMs) => {
    if (lastEventId !== resumedFrom) attempts = 0;
    resumedFrom = lastEventId;
    // It is made here and not for each answer, because few are interrupted, and combining signals
    // is costly.
    const signal = AbortSignal.any([...signals]);
    if (retryMs > maxRetryMs) return undefined;
    while (attempts < maxAttempts) {
      attempts += 1;
      await wait(retryMs, signal);
      // Some fetches ignore the signal.
      const response = await abortable(get(lastEventId, signal), signal).catch(() => undefined);
      signal.throwIfAborted();
      if (response === undefined || response.status >= 500) {
        await letGo(response);
        continue;
      }
      if (isEventStream(response)) return response.body;
      await letGo(response);
      return undefined;
    }
    return undefined;
  };
}
