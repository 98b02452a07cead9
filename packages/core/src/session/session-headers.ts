import type { LiveSession } from "./slot-state.ts";

export const sessionIdHeader = "mcp-session-id";
const versionHeader = "mcp-protocol-version";

/**
 * A client's headers on a session: the slot's id and negotiated version, whatever the client set.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
 */
export function headersForSession(headers: Headers, session: LiveSession | undefined): Headers {
  return nameSession(new Headers(headers), session);
}

/** The same for headers that are the fetch's own. They are changed. */
export function nameSession(headers: Headers, session: LiveSession | undefined): Headers {
  if (session?.kind === "session") headers.set(sessionIdHeader, session.sessionId);
  else headers.delete(sessionIdHeader);
  if (session) headers.set(versionHeader, session.initializeResult.protocolVersion);
  return headers;
}

/** A client's headers for a message of the fetch itself, without the fields of the client's message. */
export function headersForMessage(headers: Headers, session: LiveSession | undefined): Headers {
  const result = headersForSession(headers, session);
  for (const name of ["last-event-id", "mcp-method", "mcp-name", "content-length"]) {
    result.delete(name);
  }
  if (session === undefined) result.delete(versionHeader);
  result.set("content-type", "application/json");
  result.set("accept", "application/json, text/event-stream");
  return result;
}

/** Headers for ending a session. Its version may be unknown, if its `initialize` was not answered. */
export function headersForEnd(headers: Headers, sessionId: string, version?: string): Headers {
  const result = headersForMessage(headers, undefined);
  result.delete("content-type");
  result.set(sessionIdHeader, sessionId);
  if (version !== undefined) result.set(versionHeader, version);
  return result;
}

/** The session that an answer names. An empty header names none. */
export function namedSession({ headers }: Response): string | undefined {
  return headers.get(sessionIdHeader) || undefined;
}

/** An answer's headers for the client: without the session id and the original body's length. */
export function headersForClient(headers: Headers): Headers {
  const result = new Headers(headers);
  for (const name of [sessionIdHeader, "content-length", "content-encoding"]) result.delete(name);
  return result;
}
