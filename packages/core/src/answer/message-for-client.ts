import type { JsonRpcMessage, JsonRpcNotification } from "../wire/json-rpc.ts";
import type { PendingRequest } from "../wire/request-ids.ts";
import { scrubError, scrubStrings } from "../wire/scrub-session-id.ts";
import type { LiveSession } from "../session/live-session.ts";
import type { SessionContext } from "../session/session-context.ts";
import { isCurrent } from "../session/session-life.ts";
import type { ToolListKeeper } from "../tools/tool-list.ts";
import { type AnswerRestorer, createAnswerRestorer } from "./restore-answer.ts";
import type { ServerRequests } from "./server-requests.ts";

/** The session's context and the readers of the server's messages. */
export interface AnswerContext extends SessionContext {
  readonly tools: ToolListKeeper;
  readonly serverRequests: ServerRequests;
  /** Whether somebody listens to events. Without a listener, notifications need no event. */
  readonly isObserved: boolean;
  /** The longest silence of the server while a request waits for its answer, in milliseconds. */
  readonly answerMs: number;
}

/**
 * Turns a session's messages into messages for the client: with the client's request ids, without the
 * session id. It also notes news about tools, and notifications.
 *
 * @param pending the request that they answer; `undefined` for a stream without a request
 * @param session returns their session
 */
export function createRestorer(
  context: AnswerContext,
  pending: PendingRequest | undefined,
  session: () => LiveSession,
): AnswerRestorer {
  const { state, ids, tools, serverRequests, isObserved } = context;
  return createAnswerRestorer({
    ids,
    pending,
    observe(message, answered) {
      // A lost session's news about tools does not concern its successor.
      if (isCurrent(state, session())) tools.observe(message, answered);
    },
    reads: ({ request: { method } }) => method === "tools/list",
    toClient: (message) => toClient(message, session(), serverRequests),
    notify: isObserved ? (message) => notify(context, message, session()) : undefined,
  });
}

function toClient(
  message: JsonRpcMessage,
  session: LiveSession,
  serverRequests: ServerRequests,
): JsonRpcMessage {
  if ("method" in message) return serverRequests.receive(message, session);
  return message.error !== undefined && session.kind === "session"
    ? { ...message, error: scrubError(message.error, session.sessionId) }
    : message;
}

function notify(
  { emit }: SessionContext,
  { method, params }: JsonRpcNotification,
  session: LiveSession,
): void {
  const said = { method, params };
  const scrubbed = session.kind === "session" ? scrubStrings(said, session.sessionId) : said;
  emit({ type: "notification", ...(scrubbed as typeof said) });
}
