import {
  McpSessionError,
  type McpSessionErrorCode,
  type UnavailableReason,
} from "../base/mcp-session-error.ts";
import { connectionFailure } from "../wire/connection-failure.ts";
import { safeMethods, UnusableAnswer } from "../wire/json-rpc.ts";
import { liveSession, lostSession } from "./session-life.ts";
import type { SlotState } from "./slot-state.ts";

/** The request that failed, with the status of its answer or the error behind it. */
export interface Failed {
  readonly method: string;
  readonly url: URL;
  readonly status?: number | undefined;
  readonly cause?: unknown;
}

/** @param why the failure, whether the request was carried out, and the next step to take */
export function failed(
  code: McpSessionErrorCode,
  { method, url, status, cause }: Failed,
  why: string,
  reason?: UnavailableReason,
) {
  const data = { method, origin: url.origin, status, ...(reason && { reason }) };
  const refusal = status !== undefined && status >= 400 ? ` (HTTP ${status})` : "";
  const message = `${method} at ${url.origin}${refusal}: ${why}`;
  return new McpSessionError(code, message, { data, cause });
}

/** An error that is the same for each request. */
function always(code: McpSessionErrorCode, why: string, reason?: UnavailableReason) {
  return (request: Failed) => failed(code, request, why, reason);
}

const gone = "the server no longer knows the session, and its contents are gone.";
const suggestsLoss = "the server's refusal suggests that it lost the session";
const notDone = "The request was not carried out";
const triesAgain = "The next request tries again.";
const checkFirst =
  "Whether the request was carried out is unknown; check before you send it again.";
const unknownWhenNew =
  'the server does not know the session that it has just made. Probably a load balancer spreads the requests over replicas that do not share sessions. Send all requests of a session to one replica (sticky routing), or set onLoss: "retry".';

/** The server no longer knows the session, and no other could take its place. */
export const sessionLost = always(
  "SESSION_LOST",
  `${gone} No new one could take its place. ${triesAgain}`,
);

/** The server refused the session that took the lost one's place. */
export const successorLost = always("SESSION_LOST", `${unknownWhenNew} ${notDone}.`);

/**
 * The server refused a new session: the first one, or one in a recovery.
 *
 * @param isMade whether `initialize` had succeeded
 */
export function sessionRefused(state: SlotState, request: Failed, isMade = false): McpSessionError {
  const isLost = lostSession(state) !== undefined;
  const isUnknown = isMade && request.status === 404;
  if (isLost && !isUnknown) return sessionLost(request);
  if (liveSession(state) !== undefined && !isUnknown) return wayBroken(request);
  const why = isUnknown ? unknownWhenNew : "the server refused a new session.";
  const code = isLost ? "SESSION_LOST" : "CONNECTION_UNAVAILABLE";
  return failed(code, request, `${why} ${triesAgain}`, isLost ? undefined : "refused");
}

/** The way to the server is broken: what stands before it refuses everything. The session is kept. */
export function wayBroken(request: Failed, isUncertain = false): McpSessionError {
  const why =
    "this is the answer for the session and for a new one alike, so the server is not to be reached there. The session is kept. Check the URL; while a deploy is under way, try again.";
  const fate = safeMethods.has(request.method)
    ? ""
    : isUncertain
      ? ` ${checkFirst}`
      : ` ${notDone}.`;
  const code = fate !== "" && isUncertain ? "OUTCOME_UNKNOWN" : "CONNECTION_UNAVAILABLE";
  return failed(code, { ...request, status: 404 }, `${why}${fate}`, "refused");
}

/** The server named a session, or described itself, in a way that no snapshot can hold. */
export function initializeUnusable(request: Failed, what: string): McpSessionError {
  const why = `the answer has ${what}. The server has to be fixed.`;
  return failed("CONNECTION_UNAVAILABLE", request, why, "not-mcp");
}

export function handshakeTimedOut(request: Failed, timeoutMs: number): McpSessionError {
  const why = `no answer within ${timeoutMs} ms. ${triesAgain}`;
  return failed("CONNECTION_UNAVAILABLE", request, why, "timeout");
}

/** The server speaks revisions with sessions, and the client those without, or the reverse. */
export const eraUnsupported = always(
  "CONNECTION_UNAVAILABLE",
  'this client speaks other revisions than the server does now: with sessions (2025-11-25 and earlier), or without (2026-07-28 and later). The request was not carried out. Connect a new client, one that probes (server/discover): @ai-sdk/mcp 2, or @modelcontextprotocol/client with versionNegotiation: { mode: "auto" }.',
  "other-era",
);

export function notSentAgain(request: Failed, loss: "definite" | "probable"): McpSessionError {
  return loss === "probable"
    ? failed("OUTCOME_UNKNOWN", request, `${suggestsLoss} and its contents. ${checkFirst}`)
    : failed("SESSION_LOST", request, `${gone} ${notDone}, and was not sent again.`);
}

/** The refusal suggests a loss, and the server still knows the session. */
export const refusedOnLiveSession = always(
  "OUTCOME_UNKNOWN",
  `${suggestsLoss}, but it still knows it. ${checkFirst}`,
);

/** The answer to a call stands for a task. */
export const taskMade = always(
  "OUTCOME_UNKNOWN",
  "the server made a task of the call, and this connection follows none. The work may go on at the server, and its result cannot be had; check there before you make the call again.",
);

/** @param silentMs how long no message came from the server, in milliseconds, if that ended the request */
export function outcomeUnknown(request: Failed, silentMs: number | undefined): McpSessionError {
  const { status = 0 } = request;
  let what = "the connection broke before the answer was complete";
  if (status >= 400) what = "the server, or what stands before it, refused the request";
  if (silentMs !== undefined)
    what = `nothing was read from the server for ${silentMs} ms, or no message`;
  else if (request.cause instanceof UnusableAnswer)
    what = "the answer is no valid JSON-RPC message";
  return failed("OUTCOME_UNKNOWN", request, `${what}. ${checkFirst}`);
}

/** The server lost its own answer, with a process of its own. */
export const lostOnServer = always(
  "OUTCOME_UNKNOWN",
  `the server says that the answer was lost there. ${checkFirst}`,
);

/** Something on the way has sent a request twice: ids of ours never meet. */
export const arrivedTwice = always(
  "OUTCOME_UNKNOWN",
  `the server has got the request twice, and works on the first. ${checkFirst}`,
);

/** Messages of the handshake, and HTTP methods, that change nothing that anybody would miss. */
const otherSafe = /^(?:initialize|notifications\/initialized|server\/discover|GET|DELETE)$/;

/**
 * The error for a request whose connection could not be made, or broke. Any other error of the base fetch
 * stays as it is.
 *
 * @returns `CONNECTION_UNAVAILABLE` if nothing was sent, or nothing can have changed; else `OUTCOME_UNKNOWN`
 */
export function connectionBroke(request: Failed): unknown {
  const { method, cause } = request;
  const failure = McpSessionError.isInstance(cause) ? undefined : connectionFailure(cause);
  if (failure === undefined) return cause;
  const { sent, reason } = failure;
  const isSafe = sent === "never" || safeMethods.has(method) || otherSafe.test(method);
  return failed(
    isSafe ? "CONNECTION_UNAVAILABLE" : "OUTCOME_UNKNOWN",
    request,
    `${failure.words} ${isSafe ? triesAgain : checkFirst}`,
    reason,
  );
}
