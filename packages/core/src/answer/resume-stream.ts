import { letGo } from "../wire/read-text.ts";
import { abortable } from "../base/bounded-wait.ts";
import { isEventStream } from "../wire/read-answer.ts";
import { wait } from "../base/bounded-wait.ts";

/** How long to wait before the first `retry` field says otherwise, in milliseconds. */
const defaultRetryMs = 1000;
/** How often in a row a stream may be resumed without any new event. */
const maxAttempts = 10;

/**
 * Continues an interrupted answer stream: GET with `Last-Event-ID`, after `retry` milliseconds.
 * Returns `undefined` when the server does not offer it, asks to wait for longer than `maxRetryMs`
 * (reconnecting earlier is forbidden), or after ten attempts without news.
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
    // Made here, not for each answer: few are interrupted, and combining signals is costly.
    const signal = AbortSignal.any([...signals]);
    if (retryMs > maxRetryMs) return undefined;
    while (attempts < maxAttempts) {
      attempts += 1;
      await wait(retryMs, signal);
      // Not every fetch heeds a signal.
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
