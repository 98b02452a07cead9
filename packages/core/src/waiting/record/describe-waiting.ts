import type { WaitingCall } from "./waiting-call.ts";
import type { WaitingRecord } from "./waiting-record.ts";

/** What an application sees of a record. */
export function describeWaiting(stored: WaitingRecord): WaitingCall {
  const { id, type, state, connection, url, toolCallId, path, request, round, askedAt, expiresAt } =
    stored;
  const { method, params } = request;
  const { held, pollAfter } = stored;
  const status = held?.type === "task" && {
    status: held.status,
    statusMessage: held.statusMessage,
  };
  return {
    ...{ id, type, state, connection, server: new URL(url).origin, method },
    tool: String(params[method === "resources/read" ? "uri" : "name"]),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(path !== undefined && { path }),
    ...{ round, requests: stored.requests, askedAt, expiresAt },
    ...status,
    ...(type === held?.type && { pollAfter }),
    ...(held?.type === "watch" && { news: held.news ?? 0 }),
  };
}
