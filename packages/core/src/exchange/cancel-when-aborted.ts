import type { AnswerTimeout } from "../answer/answer-timeout.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import type { SendOwnMessage } from "../session/own-message.ts";
import type { PendingRequest, RequestIds } from "../wire/request-ids.ts";
import type { LiveSession } from "../session/live-session.ts";

const cancelTimeoutMs = 5_000;

/**
 * Tells the server that nobody waits any more, for clients that only drop the connection, and for
 * a server that was silent for too long. Best effort.
 *
 * @returns stops it
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
 */
export function cancelWhenAborted({
  pending: { wireId },
  session,
  template,
  waiting,
  ids,
  sendOwn,
  cancelOnAbort,
}: {
  pending: PendingRequest;
  session: LiveSession;
  template: OutgoingRequest;
  waiting: AnswerTimeout;
  ids: RequestIds;
  sendOwn: SendOwnMessage;
  cancelOnAbort: boolean | (() => boolean);
}): () => void {
  const { signal } = waiting;
  const cancel = () => {
    // A stream may stay open after its answer.
    if (ids.find(wireId) === undefined) return;
    const isOn = typeof cancelOnAbort === "function" ? cancelOnAbort() : cancelOnAbort;
    if (!isOn && !waiting.expired) return;
    const reason = waiting.expired ? "The server was silent." : "The request was aborted.";
    const params = { requestId: wireId, reason };
    const cancelled = { method: "notifications/cancelled", params };
    const timeout = AbortSignal.timeout(cancelTimeoutMs);
    void sendOwn(cancelled, { template, session, signal: timeout })
      .then((response) => response.body?.cancel())
      .catch(() => undefined);
  };
  signal.addEventListener("abort", cancel, { once: true });
  return () => signal.removeEventListener("abort", cancel);
}
