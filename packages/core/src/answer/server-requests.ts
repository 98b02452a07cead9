import type { SessionContext } from "../session/session-context.ts";
import { type LiveSession, sameSession } from "../session/session-life.ts";
import {
  isRequest,
  type JsonRpcMessage,
  type JsonRpcResponse,
  methodOf,
  paramsOf,
} from "../wire/json-rpc.ts";

// The client's answers to server requests stay with the session that asked. Servers number their requests
// from 0 too. Without this, a user's consent in a lost session would answer the next session's question
// under the same id.

type Questions = Pick<SessionContext, "questions">;

/**
 * A message of a session in its form for the client. A request keeps its id, unless another session's
 * request waits under the same id.
 */
export function receiveMessage(
  { ids, questions }: Questions & { readonly ids: Pick<SessionContext["ids"], "next"> },
  message: JsonRpcMessage,
  session: LiveSession,
): JsonRpcMessage {
  if (!isRequest(message)) {
    if (methodOf(message) !== "notifications/cancelled") return message;
    const params = paramsOf(message);
    for (const [key, { id, session: asking }] of questions) {
      if (id !== params?.["requestId"] || !sameSession(asking, session)) continue;
      return { ...message, params: { ...params, requestId: JSON.parse(key) } };
    }
    return message;
  }
  const { id } = message;
  const other = questions.get(JSON.stringify(id));
  const isTaken = other !== undefined && !sameSession(other.session, session);
  const idForClient = isTaken ? ids.next() : id;
  questions.set(JSON.stringify(idForClient), { session, id });
  return isTaken ? { ...message, id: idForClient } : message;
}

/** The session whose question the client answers here. */
export function askedBy(
  { questions }: Questions,
  { id }: JsonRpcResponse,
): LiveSession | undefined {
  return questions.get(JSON.stringify(id))?.session;
}

/** The client's answer with the current session's id; `undefined` if another session asked. */
export function answerQuestion(
  { questions }: Questions,
  message: JsonRpcResponse,
  live: LiveSession,
): JsonRpcResponse | undefined {
  const key = JSON.stringify(message.id);
  const asked = questions.get(key);
  questions.delete(key);
  if (asked === undefined) return message;
  return sameSession(asked.session, live) ? { ...message, id: asked.id } : undefined;
}
