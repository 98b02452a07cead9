import type { SessionContext } from "../session/session-context.ts";
import { isCurrent, type LiveSession } from "../session/session-life.ts";
import { observeTools } from "../tools/tool-list.ts";
import type { PendingRequest } from "../wire/request-ids.ts";
import { scrubError, scrubStrings } from "../wire/scrub-session-id.ts";
import { type AnswerRestorer, createAnswerRestorer } from "./restore-answer.ts";
import { receiveMessage } from "./server-requests.ts";

/**
 * Turns a session's messages into messages for the client: with the client's request ids, without the
 * session id. It also notes news about tools, and notifications.
 *
 * @param pending the request that they answer; `undefined` for a stream without a request
 * @param session returns their session
 */
export function createRestorer(
  context: SessionContext,
  pending: PendingRequest | undefined,
  session: () => LiveSession,
): AnswerRestorer {
  const { state, ids, emit, onEvent } = context;
  return createAnswerRestorer({
    ids,
    pending,
    observe(message, answered) {
      // A lost session's news about tools does not concern its successor.
      if (isCurrent(state, session())) observeTools(context, message, answered?.request);
    },
    reads: ({ request: { method } }) => method === "tools/list",
    toClient(message) {
      const from = session();
      if ("method" in message) return receiveMessage(context, message, from);
      return message.error !== undefined && from.kind === "session"
        ? { ...message, error: scrubError(message.error, from.sessionId) }
        : message;
    },
    notify({ method, params }) {
      // Without a listener, notifications need no event.
      if (onEvent === undefined) return;
      const from = session();
      const said = { method, params };
      const scrubbed = from.kind === "session" ? scrubStrings(said, from.sessionId) : said;
      emit({ type: "notification", ...(scrubbed as typeof said) });
    },
  });
}
