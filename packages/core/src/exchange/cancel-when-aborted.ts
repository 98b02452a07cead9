import { sendOwn } from "../session/session-context.ts";
import { onAbort } from "../base/bounded-wait.ts";
import { letGo } from "../wire/read-answer.ts";
import type { AnsweredRequest } from "../answer/open-answer.ts";
import type { ExchangeContext } from "./exchange-context.ts";

const cancelTimeoutMs = 5_000;

/**
 * Tells the server that nobody waits for the answer any more: some clients only drop the connection when
 * they abort, and a silent server has to stop too. Best effort.
 *
 * @returns a function that stops it
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
 */
export function cancelWhenAborted(
  context: ExchangeContext,
  { pending: { wireId }, session, request, timeout }: Omit<AnsweredRequest, "settle">,
): () => void {
  const { ids, cancelOnAbort } = context;
  const { signal } = timeout;
  const cancel = () => {
    // A stream may stay open after its answer.
    if (ids.find(wireId) === undefined) return;
    const isOn = typeof cancelOnAbort === "function" ? cancelOnAbort() : cancelOnAbort;
    if (!isOn && timeout.silentMs === undefined) return;
    const reason =
      timeout.silentMs !== undefined ? "The server was silent." : "The request was aborted.";
    const params = { requestId: wireId, reason };
    const cancelled = { method: "notifications/cancelled", params };
    const limit = AbortSignal.timeout(cancelTimeoutMs);
    void sendOwn(context, cancelled, session, request, limit)
      .then(letGo)
      .catch(() => undefined);
  };
  return onAbort(signal, cancel);
}
