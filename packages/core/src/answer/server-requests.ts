import { setBounded } from "../base/bounded-map.ts";
import { serverLimits } from "../base/server-limits.ts";
import type { SessionContext } from "../session/session-context.ts";
import { type LiveSession, sameSession } from "../session/slot-state.ts";
import {
  isRequest,
  type JsonRpcMessage,
  type JsonRpcResponse,
  methodOf,
  type JsonRpcId,
  paramsOf,
} from "../wire/json-rpc.ts";
import { lastingId, restoreLastingId } from "../wire/request-ids.ts";

// The client's answers to server requests stay with the session that asked. Servers number their requests
// from 0 too. Without this, a user's consent in a lost session would answer the next session's question
// under the same id.

type Questions = Pick<SessionContext, "questions">;
type Lasting = { readonly lasting?: string | undefined };

/**
 * A message of a session in its form for the client. The requests of the first session keep their ids.
 * Those of its successors get ids of ours, so that no answer can be mistaken for another one's, however
 * late it comes.
 */
export function receiveMessage(
  { ids, questions }: Questions & { readonly ids: Pick<SessionContext["ids"], "next"> & Lasting },
  message: JsonRpcMessage,
  session: LiveSession,
): JsonRpcMessage {
  const isQuestion = isRequest(message);
  if (!isQuestion && methodOf(message) !== "notifications/cancelled") return message;
  const { open } = questions;
  questions.first ??= session;
  const era = ids.lasting === undefined ? undefined : eraOf(session);
  const isFirst = era === undefined && sameSession(questions.first, session);
  if (isQuestion) {
    const { id } = message;
    const idForClient = era ? lastingId(era, id) : isFirst ? id : ids.next();
    const asksPerson = message.method === "elicitation/create" && canAsk(session);
    setBounded(
      open,
      JSON.stringify(idForClient),
      { session, id, asksPerson },
      serverLimits.questions,
    );
    return isFirst ? message : { ...message, id: idForClient };
  }
  const params = paramsOf(message);
  for (const [key, { id, session: asking }] of open) {
    if (id !== params?.["requestId"] || !sameSession(asking, session)) continue;
    open.delete(key);
    return { ...message, params: { ...params, requestId: JSON.parse(key) } };
  }
  // Nobody waits for it here. The server's id may be the one of a question of the first session.
  if (isFirst) return message;
  const requestId = era ? lastingId(era, params?.["requestId"] as JsonRpcId) : ids.next();
  return { ...message, params: { ...params, requestId } };
}

/** Tells the questions of a session from those of the sessions before and after it, in each process. */
function eraOf(session: LiveSession): string {
  const { startedAt = 0 } = session.kind === "session" ? session : {};
  return `q${startedAt.toString(36)}`;
}

/** Other clients may never answer such a request, and a server would only have to ask to lift a limit. */
const canAsk = (session: LiveSession) =>
  session.kind === "session" && "elicitation" in session.clientCapabilities;

/** Until when a person was asked on a session: now, if an answer is to come. In milliseconds of `performance`. */
export function askedUntil(
  { questions: { open, answeredAt = 0 } }: Questions,
  session: LiveSession,
): number {
  const isAsking = [...open.values()].some(
    (one) => one.asksPerson && sameSession(one.session, session),
  );
  return isAsking ? performance.now() : answeredAt;
}

/** The session whose question the client answers here. */
export function askedBy(
  { questions }: Questions,
  { id }: JsonRpcResponse,
): LiveSession | undefined {
  return questions.open.get(JSON.stringify(id))?.session;
}

/** The client's answer with the current session's id; `undefined` if another session asked. */
export function answerQuestion(
  { ids, questions }: Questions & { readonly ids: Lasting },
  message: JsonRpcResponse,
  live: LiveSession,
): JsonRpcResponse | undefined {
  const { open, first } = questions;
  questions.answeredAt = performance.now();
  const key = JSON.stringify(message.id);
  const asked = open.get(key);
  open.delete(key);
  if (ids.lasting !== undefined) {
    const id = restoreLastingId(eraOf(live), message.id);
    return id === undefined ? undefined : { ...message, id };
  }
  // Without a note of it, it can only be the answer to a question of the first session.
  if (asked === undefined)
    return first === undefined || sameSession(first, live) ? message : undefined;
  return sameSession(asked.session, live) ? { ...message, id: asked.id } : undefined;
}
