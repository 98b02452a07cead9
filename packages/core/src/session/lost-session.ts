import { isRecord } from "../base/json-values.ts";
import { parseMessages } from "../wire/json-rpc.ts";

/**
 * Whether an answer means that the request's session is lost.
 *
 * - `definite`: the server does not know the session and did not process the request.
 * - `probable`: the refusal speaks of the session, and the server may have processed the request.
 * - `none`: any other answer.
 */
export type SessionLoss = "definite" | "probable" | "none";

/** An answer that is not 2xx, to a request that carried a session id. */
export interface RefusedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The text, scrubbed of the session id. */
  readonly body: string;
}

/** A refusal that was read completely, so that each waiting client can get a copy. */
export interface BufferedAnswer extends RefusedAnswer {
  /** Whether it means that the request's session is lost. */
  readonly loss: SessionLoss;
  /** Whether it refuses the version of the session, which may not be lost then. */
  readonly isOfVersion?: boolean;
}

/**
 * Refusals of session routers with HTTP 400, each with a server that sends it. The router stands before
 * the tools, so the request never reached a tool. The list is only for requests with an id: for those,
 * "is required" and "not initialized" can only concern the session.
 */
const definiteRefusals: readonly RegExp[] = [
  // @modelcontextprotocol/server-everything 2026.8.31
  /no valid session id provided/i,
  // @modelcontextprotocol/sdk 1.32.2 with one transport per process, after a restart
  /server not initialized/i,
  // @modelcontextprotocol/sdk 1.32.2 with one transport per process, after a DELETE
  /mcp-session-id header is required/i,
];

/**
 * JSON-RPC codes that give a refusal another meaning: unknown method, invalid params, and the
 * 2026-07-28 revision's refusals of a header, a missing capability and a version.
 */
const otherMeanings: readonly unknown[] = [-32601, -32602, -32020, -32021, -32022];

const refusedVersion = /\bunsupported[ \w-]{0,8}protocol[ -]?version/i;

/**
 * The code of `resources/read` for an unknown resource. A few servers use it for sessions too.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
 */
const resourceNotFound = -32002;

/** The word "session" and a word for its trouble, close together and in either order. */
const wrong =
  "(?:not found|unknown|expired|invalid|missing|terminated|closed|no longer|no such|does(?:n't| not) exist|not (?:exist|valid|recogni[sz]ed|active)|no (?:valid|active))";
const lostInWords = new RegExp(
  `session(?:[ _-]?id)?\\b.{0,40}\\b${wrong}|\\b${wrong}\\b.{0,40}\\bsession`,
  "is",
);

/** Refusals are shorter than this. */
const readUpTo = 4_096;

/**
 * Classifies the raw answer to a request with a session id. 401, 403, 408, 429 and 5xx never mean a loss,
 * whatever their text. Neither does a refusal of the protocol version.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function classifyLoss({ status, body }: { status: number; body: string }): SessionLoss {
  if (!mayConcernSession(status)) return "none";
  const text = wordsOf(body);
  const speaksOfSession = lostInWords.test(text);
  const hasOtherMeaning = codesOf(body).some(
    (code) => otherMeanings.includes(code) || (code === resourceNotFound && !speaksOfSession),
  );
  if (hasOtherMeaning || /protocol[ -]?version/i.test(text)) return "none";
  const isKnown = status === 400 && definiteRefusals.some((refusal) => refusal.test(text));
  if (status === 404 || isKnown) return "definite";
  return speaksOfSession ? "probable" : "none";
}

/** The words of a refusal, without the escapes that servers may write letters as in JSON. */
function wordsOf(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body)).slice(0, readUpTo);
  } catch {
    return body.slice(0, readUpTo);
  }
}

function codesOf(body: string): unknown[] {
  const { messages = [] } = parseMessages(body) ?? {};
  return messages.map((message) => ("error" in message ? message.error?.code : undefined));
}

/** Whether a router refused the version, or the headers, of a request, which nothing has handled. */
export function refusesVersion({ status, body }: { status: number; body: string }): boolean {
  const [code] = codesOf(body);
  if (otherMeanings.includes(code)) {
    return mayConcernSession(status) && (code === -32020 || code === -32022);
  }
  return status === 400 && refusedVersion.test(wordsOf(body));
}

/** Whether a router refused a request, with a session or without one, before anything handled it. */
export function refusesUnprocessed(answer: { status: number; body: string }): boolean {
  const isOfSession = answer.status !== 404 || lostInWords.test(wordsOf(answer.body));
  return refusesVersion(answer) || (isOfSession && classifyLoss(answer) === "definite");
}

/**
 * Whether a refusal of a request without sessions can be of a server of older revisions.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility
 */
export function refusesRevision({ status, body }: { status: number; body: string }): boolean {
  const [code] = codesOf(body) as number[];
  const isOfEra = [-32020, -32021, -32600, -32601, -32602, -32603, -32700].includes(code ?? 0);
  return [400, 404, 405].includes(status) && !isOfEra;
}

/** A refusal, other than for who asks, for how long it takes, and for how often. */
function mayConcernSession(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status);
}

/** What a server says that wants a handshake, another version of it, or by now a session, first. */
const wantsHandshake =
  /\b(?:not|never)(?: been| yet)* initiali[sz]ed|uninitiali[sz]ed|before initiali[sz]|initiali[sz]e first|protocol[ -]?version|session[ _-]?id\b.{0,40}\b(?:required|missing)|\b(?:missing|no(?: valid)?)(?: mcp-)? ?session[ _-]?id/is;

/** Whether a server without sessions refused a request, unprocessed, because of its handshake. */
export function refusesHandshake(answer: { status: number; body: string }): boolean {
  if (!mayConcernSession(answer.status)) return false;
  return wantsHandshake.test(wordsOf(answer.body)) || refusesVersion(answer);
}

/** Whether a server says in its answer, as ours do, that nobody knows what became of the request. */
export function saysUnknown(error: unknown): boolean {
  const data = isRecord(error) ? error["data"] : undefined;
  return isRecord(data) && data["code"] === "OUTCOME_UNKNOWN";
}
