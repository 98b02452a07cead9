import { McpSessionError } from "../base/mcp-session-error.ts";
import type { SlotState } from "./session-slot.ts";

/** The server no longer knows the session, and there is no other. */
export function sessionLost(method: string, url: URL, status?: number): McpSessionError {
  return new McpSessionError(
    "SESSION_LOST",
    `${method} at ${url.origin}: the server no longer knows the session and a new one could not take its place. What the server held for the session is gone; the next request tries to start a new session.`,
    { data: { method, origin: url.origin, status } },
  );
}

/** A new session could not be made, be it the first or one in a lost one's place. */
export function sessionRefused(
  state: SlotState,
  method: string,
  url: URL,
  status: number,
): McpSessionError {
  if (state.lost !== undefined) return sessionLost(method, url, status);
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${method} at ${url.origin}: the server refused a new session with HTTP ${status}. The next request tries again.`,
    { data: { method, origin: url.origin, status } },
  );
}

/** The server named a session, or described itself, in a way that no snapshot can hold. */
export function initializeUnusable(url: URL, status: number, what: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `initialize at ${url.origin} was answered with ${what}. The server has to be fixed.`,
    { data: { method: "initialize", origin: url.origin, status } },
  );
}

export function handshakeTimedOut(
  method: string,
  url: URL,
  timeoutMs: number,
  cause: unknown,
): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${method} at ${url.origin}: no answer within ${timeoutMs} ms. The next request tries again.`,
    { data: { method, origin: url.origin }, cause },
  );
}

/** The application's save point gave back what is no session of this connection. */
export function savedInvalid(url: URL): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    "onSession must return nothing or the snapshot of a session with the same URL.",
    { data: { field: "onSession", origin: url.origin } },
  );
}
