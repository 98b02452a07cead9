import {
  isRequest,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcResponse,
  methodOf,
  paramsOf,
} from "../wire/json-rpc.ts";
import type { RequestIds } from "../wire/request-ids.ts";
import { type LiveSession, sameSession } from "../session/live-session.ts";

/**
 * Keeps the client's answers to server requests with the session that asked. Servers number their
 * requests from 0 too. Without this, a user's consent in a lost session would answer the next session's
 * question under the same id.
 */
export interface ServerRequests {
  /**
   * A message of a session in its form for the client. A request keeps its id, unless another session's
   * request waits under the same id.
   */
  receive(message: JsonRpcMessage, session: LiveSession): JsonRpcMessage;
  /** The session whose question the client answers here. */
  askedBy(message: JsonRpcResponse): LiveSession | undefined;
  /** The client's answer with the current session's id; `undefined` if another session asked. */
  answer(message: JsonRpcResponse, live: LiveSession): JsonRpcResponse | undefined;
}

export function createServerRequests(ids: Pick<RequestIds, "next">): ServerRequests {
  /** The key is the client's id, as JSON. */
  const waiting = new Map<string, { readonly session: LiveSession; readonly id: JsonRpcId }>();

  const cancelled = (message: JsonRpcMessage, session: LiveSession): JsonRpcMessage => {
    const params = paramsOf(message);
    for (const [key, { id, session: asking }] of waiting) {
      if (id !== params?.["requestId"] || !sameSession(asking, session)) continue;
      const requestId: unknown = JSON.parse(key);
      return requestId === id ? message : { ...message, params: { ...params, requestId } };
    }
    return message;
  };

  return {
    receive(message, session) {
      if (!isRequest(message)) {
        const isCancellation = methodOf(message) === "notifications/cancelled";
        return isCancellation ? cancelled(message, session) : message;
      }
      const { id } = message;
      const other = waiting.get(JSON.stringify(id));
      const isTaken = other !== undefined && !sameSession(other.session, session);
      const idForClient = isTaken ? ids.next() : id;
      waiting.set(JSON.stringify(idForClient), { session, id });
      return isTaken ? { ...message, id: idForClient } : message;
    },
    askedBy: (message) => waiting.get(JSON.stringify(message.id))?.session,
    answer(message, live) {
      const key = JSON.stringify(message.id);
      const asked = waiting.get(key);
      waiting.delete(key);
      if (asked === undefined) return message;
      return sameSession(asked.session, live) ? { ...message, id: asked.id } : undefined;
    },
  };
}
