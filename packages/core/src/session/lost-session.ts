import { isRecord } from "../base/json-values.ts";
import { isUsable, type JsonRpcMessage, parseMessages, safeMethods } from "../wire/json-rpc.ts";

/**
 * Whether an answer means that the request's session is lost.
 *
 * - `definite`: the server does not know the session and did not process the request.
 * - `probable`: the refusal speaks of the session, or is a 404, and the server may have processed the request.
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
  /** Whether it may be of a server that has forgotten the session, without a word of it. */
  readonly isDoubtful?: boolean;
}

/**
 * Refusals of session routers, each with a server that sends it. The router stands before the tools, so the
 * request never reached a tool. The list is only for requests with an id: for those, "is required" and "not
 * initialized" can only concern the session.
 */
const definiteRefusals: readonly (readonly [status: number, says: RegExp])[] = [
  // @modelcontextprotocol/server-everything 2026.8.31, affine-mcp-server
  [400, /no valid session id (?:provided|or not an initialize request)/i],
  // @modelcontextprotocol/sdk 1.32.2 with one transport per process, after a restart
  [400, /server not initialized/i],
  // @modelcontextprotocol/sdk 1.32.2 with one transport per process, after a DELETE
  [400, /mcp-session-id header is required/i],
  // OmniRoute
  [400, /unknown mcp-session-id header/i],
  // ModelContextProtocol.AspNetCore, deployed again without sessions
  [400, /mcp-session-id header is not supported in stateless mode/i],
  // neotoma. Another instance may know the session, so a ping asks.
  [503, /session is unknown on this api instance/i],
  [503, /^\{"error":"session not found or expired"/i],
];

/**
 * JSON-RPC codes that give a refusal another meaning: unknown method, invalid params, a URL to visit first, and
 * the 2026-07-28 revision's refusals of a header, a missing capability and a version.
 */
const otherMeanings: readonly unknown[] = [-32601, -32602, -32042, -32020, -32021, -32022];

const refusedVersion = /\bunsupported[ \w-]{0,8}protocol[ -]?version/i;

/**
 * The code of `resources/read` for an unknown resource. A few servers use it for sessions too.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
 */
const resourceNotFound = -32002;

/** The word "session" and a word for its trouble, close together and in either order. */
const wrong =
  "(?:not found|unknown|expired|invalid|missing|terminated|closed|ended|stale|no longer|no such|does(?:n't| not) exist|not (?:exist|valid|recogni[sz]ed|active)|no (?:valid|active))";
const lostInWords = new RegExp(
  `session(?:[ _-]?id)?\\b.{0,40}\\b${wrong}|\\b${wrong}\\b.{0,40}\\bsession|\\bno (?:mcp[ -])?session`,
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
  if (!mayConcernSession(status) || hasOtherMeaning(body)) return "none";
  const isKnown = isOfRouter({ status, body });
  const speaksOfSession = lostInWords.test(wordsOf(body));
  if (status !== 404) return isKnown ? "definite" : speaksOfSession ? "probable" : "none";
  // A page, or a body about something else, may be of a gateway that has passed the request on.
  const isOfServer = isKnown || speaksOfSession || saysNothing(body);
  return isOfServer && !/^\s*</.test(body) ? "definite" : "probable";
}

/** Whether a session router is known to refuse so. */
export function isOfRouter({ status, body }: { status: number; body: string }): boolean {
  const text = wordsOf(body);
  return definiteRefusals.some(([own, says]) => [own, 404].includes(status) && says.test(text));
}

/** Whether a refusal has no words: no body, or a JSON-RPC message without its error, as Helidon sends. */
export function saysNothing(body: string): boolean {
  try {
    const value: unknown = JSON.parse(body.trim() || "{}");
    return isRecord(value) && Object.keys(value).every((key) => key === "jsonrpc" || key === "id");
  } catch {
    return false;
  }
}

/** Whether a refusal is about a method, parameters, a resource, or the version. */
function hasOtherMeaning(body: string): boolean {
  const text = wordsOf(body);
  const isOther = (code: unknown) =>
    otherMeanings.includes(code) || (code === resourceNotFound && !lostInWords.test(text));
  return codesOf(body).some(isOther) || /protocol[ -]?version/i.test(text);
}

/**
 * Whether a refusal without a word of the session may come from a server that has forgotten it. A login, a quota
 * and a busy server are another matter.
 */
export function isDoubtful({ status, headers, body }: RefusedAnswer): boolean {
  const isLogin = status === 401 || (status === 403 && headers.has("www-authenticate"));
  const isForNow = status === 408 || status === 429 || headers.has("retry-after");
  return status >= 400 && !isLogin && !isForNow && !hasOtherMeaning(body);
}

/** Whether a server says in its answer, as ours do, that nobody knows what became of the request. */
export function saysUnknown(error: unknown): boolean {
  const data = isRecord(error) ? error["data"] : undefined;
  return isRecord(data) && data["code"] === "OUTCOME_UNKNOWN";
}

/** Whether an answer with status 2xx refuses a request inside: an error, or a tool's error about a session. */
export function isDoubtfulInside(message: JsonRpcMessage | undefined): boolean {
  if (message === undefined || "method" in message || !isUsable(message)) return false;
  const { error, result } = message;
  if (error !== undefined) {
    const { code, message: said } = error;
    // Who says what became of the call knows its session.
    if (saysUnknown(error)) return false;
    return !hasOtherMeaning(JSON.stringify({ jsonrpc: "2.0", error: { code, message: said } }));
  }
  const [content] = Array.isArray(result?.["content"]) ? result["content"] : [];
  const text: unknown = isRecord(content) && content["text"];
  return (
    result?.["isError"] === true && typeof text === "string" && lostInWords.test(wordsOf(text))
  );
}

/**
 * Whether such a refusal may follow the work: a 404 that a gateway may have sent instead of the answer, or what tells
 * of another request. Only requests that change something count.
 */
export function mayFollowWork(
  answer: { status: number; body: string },
  { method }: { method: string },
): boolean {
  const isMeant = [404, 409, 410].includes(answer.status) && !safeMethods.has(method);
  return isMeant && classifyLoss(answer) !== "definite" && !hasOtherMeaning(answer.body);
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
  const isSaid = answer.status !== 404 || !saysNothing(answer.body);
  return refusesVersion(answer) || (isSaid && classifyLoss(answer) === "definite");
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
