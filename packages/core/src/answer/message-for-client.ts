import type { JsonRpcMessage } from "../wire/json-rpc.ts";
import { scrubError } from "../wire/scrub-session-id.ts";
import type { ServerRequests } from "./server-requests.ts";
import type { LiveSession } from "../session/live-session.ts";

/** What a message of a session has to become, its request id aside, before the client sees it. */
export function messageForClient(
  message: JsonRpcMessage,
  session: LiveSession,
  serverRequests: ServerRequests,
): JsonRpcMessage {
  if ("method" in message) return serverRequests.receive(message, session);
  return message.error !== undefined && session.kind === "session"
    ? { ...message, error: scrubError(message.error, session.sessionId) }
    : message;
}
