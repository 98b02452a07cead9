import { McpSessionError } from "../base/mcp-session-error.ts";
import { isRecord } from "../base/json-values.ts";
import { type JsonRpcId, type JsonRpcMessage, parseMessage } from "../wire/json-rpc.ts";
import { answerIn, hasContentType, letGo, peek, readRefusal } from "../wire/read-answer.ts";
import { scrubHeaders, scrubSessionId } from "../wire/scrub-session-id.ts";
import {
  type BufferedAnswer,
  classifyLoss,
  isDoubtful,
  isDoubtfulInside,
  refusesHandshake,
  refusesVersion,
} from "./lost-session.ts";
import type { RecoveryOptions } from "./session-fetch-options.ts";
import { headersForClient, namedSession } from "./session-headers.ts";
import type { LiveSession } from "./slot-state.ts";

/** @param classify the application's own rule, if there is one */
export async function bufferAnswer(
  response: Response,
  session?: LiveSession,
  classify?: RecoveryOptions["classifyLoss"],
): Promise<BufferedAnswer> {
  const { status } = response;
  const received = headersForClient(response.headers);
  const text = await readRefusal(response);
  if (session?.kind !== "session") {
    const isRefused = session !== undefined && refusesHandshake({ status, body: text });
    return { status, headers: received, body: text, loss: isRefused ? "definite" : "none" };
  }
  const headers = scrubHeaders(received, session.sessionId);
  const body = scrubSessionId(text, session.sessionId);
  const answer = { status, headers, body };
  try {
    const own = classify?.(answer);
    const isOfVersion = own === undefined && refusesVersion({ status, body: text });
    const loss = isOfVersion ? "definite" : (own ?? classifyLoss({ status, body: text }));
    const isInDoubt = own === undefined && loss === "none" && isDoubtful(answer);
    return { ...answer, loss, isOfVersion, isDoubtful: isInDoubt };
  } catch (cause) {
    // An error of the application must not look like one of the network.
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `classifyLoss threw on an answer with HTTP ${status}; see the cause. It must return "definite", "probable", "none" or undefined.`,
      { data: { field: "classifyLoss", status }, cause },
    );
  }
}

export function toResponse({ status, headers, body }: BufferedAnswer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}

/** A server's unchanged answer, with the headers for the client. */
export function responseForClient(response: Response): Response {
  const { body, status, statusText } = response;
  return new Response(body, { status, statusText, headers: headersForClient(response.headers) });
}

/** A copy with the client's id, if the body is a message with an id. */
export function toResponseFor(id: JsonRpcId, answer: BufferedAnswer): Response {
  let body = answer.body;
  try {
    const message: unknown = JSON.parse(body);
    const isNamed = isRecord(message) && (message["id"] != null || answer.status < 300);
    if (isNamed) body = JSON.stringify({ ...message, id });
  } catch {
    // A body that is not JSON goes to the client unchanged.
  }
  return toResponse({ ...answer, body });
}

/** Whether the client or the application handles it. Such an answer never means a loss. */
export function isAuthOrOutage({ status }: { readonly status: number }): boolean {
  return status === 401 || status === 403 || status === 429 || status >= 500;
}

// A server without sessions keeps nothing of a handshake, so a later step goes on with its result. One that
// keeps something all the same, for all of its clients together, refuses after a restart.

/** Whether an answer with status 2xx is an error that refuses a handshake without a session. */
export function refusesInside(session: LiveSession, message: JsonRpcMessage | undefined): boolean {
  if (session.kind !== "sessionless" || message === undefined || !("error" in message))
    return false;
  // As if the server had answered with a status for it.
  return refusesHandshake({ status: 400, body: message.error?.message ?? "" });
}

/**
 * Sessions, and handshakes without one, that have answered something else than a refusal since they were taken up, or
 * since they refused something.
 */
export const proven = new WeakSet<LiveSession>();

/**
 * Reads the first JSON answer on a session, or after a handshake without one: some servers refuse with status 200.
 * Of an answer stream only the error is read, on its way to the client.
 *
 * @returns the refusal, or an answer like the given one
 */
export async function readProof(
  response: Response,
  session: LiveSession,
  signal: AbortSignal,
): Promise<Response | BufferedAnswer> {
  const isKept = session.kind === "session";
  const isOther = isKept && (namedSession(response) ?? session.sessionId) !== session.sessionId;
  if (isOther || !hasContentType(response, "application/json")) return response;
  const body = (await peek(response, signal)) ?? "";
  const message = parseMessage(body);
  const isRefused = isKept ? isDoubtfulInside(message) : refusesInside(session, message);
  if (!isRefused) {
    if (!isKept && message) proven.add(session);
    return response;
  }
  letGo(response);
  const refusal = { status: response.status, headers: headersForClient(response.headers) };
  return isKept
    ? { ...refusal, body: scrubSessionId(body, session.sessionId), loss: "none", isDoubtful: true }
    : { ...refusal, body, loss: "definite" };
}

/** Sessions in doubt whose refusal went to its client. */
const suspected = new WeakSet<LiveSession>();

/** Notes what a server's answer, on its way to the client, says of its session. */
export function noteProof(session: LiveSession, message: JsonRpcMessage): void {
  if (!isDoubtfulInside(message)) proven.add(session);
  // After an answer the first refusal is the request's own matter.
  else if (!proven.delete(session)) suspected.add(session);
}

/** Whether such a refusal came. Says so once. */
export function takeSuspicion(session: LiveSession): boolean {
  return suspected.delete(session);
}

/**
 * Whether a refusal puts its session in doubt. One that names the request is the request's own matter, if the session
 * has answered others.
 */
export function putsInDoubt(
  session: LiveSession,
  { loss, isDoubtful: isMeant, body }: BufferedAnswer,
  wireId: string,
): boolean {
  if (loss !== "none" || !isMeant) return false;
  const hadAnswered = proven.delete(session);
  return !hadAnswered || answerIn(body, wireId) === undefined;
}
