import { McpSessionError, type McpSessionErrorCode } from "../base/mcp-session-error.ts";
import { lostSession, type SlotState } from "./session-life.ts";

/** @param why the failure, whether the request was carried out, and the next step to take */
function failed(
  code: McpSessionErrorCode,
  method: string,
  url: URL,
  why: string,
  status?: number,
  cause?: unknown,
): McpSessionError {
  return new McpSessionError(code, `${method} at ${url.origin}: ${why}`, {
    data: { method, origin: url.origin, status },
    cause,
  });
}

const gone = "the server no longer knows the session, and its contents are gone.";
const checkFirst =
  "Whether the request was carried out is unknown; check before you send it again.";

/** The server no longer knows the session, and no other could take its place. */
export function sessionLost(method: string, url: URL, status?: number): McpSessionError {
  const why = `${gone} No new one could take its place. The next request tries again.`;
  return failed("SESSION_LOST", method, url, why, status);
}

/** The server refused a new session: the first one, or one in a recovery. */
export function sessionRefused(
  state: SlotState,
  method: string,
  url: URL,
  status: number,
): McpSessionError {
  if (lostSession(state) !== undefined) return sessionLost(method, url, status);
  const why = `the server refused a new session with HTTP ${status}. The next request tries again.`;
  return failed("CONNECTION_UNAVAILABLE", method, url, why, status);
}

/** The server named a session, or described itself, in a way that no snapshot can hold. */
export function initializeUnusable(url: URL, status: number, what: string): McpSessionError {
  const why = `the answer has ${what}. The server has to be fixed.`;
  return failed("CONNECTION_UNAVAILABLE", "initialize", url, why, status);
}

export function handshakeTimedOut(
  method: string,
  url: URL,
  timeoutMs: number,
  cause: unknown,
): McpSessionError {
  const why = `no answer within ${timeoutMs} ms. The next request tries again.`;
  return failed("CONNECTION_UNAVAILABLE", method, url, why, undefined, cause);
}

/** The server has no revision with sessions, and the client did not ask for one without. */
export function eraUnsupported(url: URL): McpSessionError {
  const why =
    'the server only speaks revisions without sessions (2026-07-28 and later), and this client did not probe for them (server/discover). Use @ai-sdk/mcp 2, or @modelcontextprotocol/client with versionNegotiation: { mode: "auto" }.';
  return failed("ERA_UNSUPPORTED", "initialize", url, why);
}

/** The application's save point returned a value that is not a session of this connection. */
export function savedInvalid(url: URL): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    "onSession must return nothing or the snapshot of a session with the same URL.",
    { data: { field: "onSession", origin: url.origin } },
  );
}

/** The session is gone, and the request is not sent again. */
export function notSentAgain(
  method: string,
  url: URL,
  loss: "definite" | "probable",
  status?: number,
): McpSessionError {
  if (loss === "probable") {
    const why = `the server's refusal suggests that it lost the session and its contents. ${checkFirst}`;
    return failed("OUTCOME_UNKNOWN", method, url, why, status);
  }
  const why = `${gone} The request was not carried out, and was not sent again.`;
  return failed("SESSION_LOST", method, url, why, status);
}

/** The refusal suggests a loss, and the server still knows the session. */
export function refusedOnLiveSession(method: string, url: URL, status: number): McpSessionError {
  const why = `the server's refusal suggests that it lost the session, but it still knows it. ${checkFirst}`;
  return failed("OUTCOME_UNKNOWN", method, url, why, status);
}

/** @param silentMs how long the server was silent, in milliseconds, if that ended the request */
export function outcomeUnknown(
  method: string,
  url: URL,
  cause: unknown,
  silentMs?: number,
): McpSessionError {
  const what =
    silentMs === undefined
      ? "the server took the request and its answer was lost on the way"
      : `the server was silent for ${silentMs} ms`;
  return failed("OUTCOME_UNKNOWN", method, url, `${what}. ${checkFirst}`, undefined, cause);
}
