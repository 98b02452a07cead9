import { type JsonRpcMessage, parseMessage } from "../wire/json-rpc.ts";
import { hasContentType, MAX_MESSAGE_BYTES, readText } from "../wire/read-answer.ts";
import { type BufferedAnswer, refusesHandshake } from "./lost-session.ts";
import { headersForClient } from "./session-headers.ts";
import type { LiveSession } from "./slot-state.ts";

// A server without sessions keeps nothing of a handshake, so a later step goes on with its result. One that
// keeps something all the same, for all of its clients together, refuses after a restart.

/** Whether an answer with status 2xx is an error that refuses a handshake without a session. */
export function refusesInside(session: LiveSession, message: JsonRpcMessage | undefined): boolean {
  if (session.kind !== "sessionless" || message === undefined || !("error" in message))
    return false;
  // As if the server had answered with a status for it.
  return refusesHandshake({ status: 400, body: message.error?.message ?? "" });
}

/** Handshakes without a session that have answered something else than a refusal. */
const proven = new WeakSet<LiveSession>();

/**
 * Reads the first JSON answer after a handshake without a session: some servers refuse with status 200. Of an
 * answer stream only the error is read, on its way to the client.
 *
 * @returns the refusal, or an answer like the given one
 */
export async function readProof(
  response: Response,
  session: LiveSession,
): Promise<Response | BufferedAnswer> {
  const isToRead = session.kind === "sessionless" && !proven.has(session);
  if (!isToRead || !hasContentType(response, "application/json")) return response;
  const { status, headers } = response;
  const body = await readText(response, MAX_MESSAGE_BYTES);
  if (refusesInside(session, parseMessage(body))) {
    return { status, headers: headersForClient(headers), body, loss: "definite" };
  }
  proven.add(session);
  // With some statuses there can be no body.
  return new Response(body === "" ? null : body, { status, headers });
}
