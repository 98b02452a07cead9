import type { Reply } from "../base/reply.ts";

/** An HTTP error with a JSON-RPC body, in the form of the official SDK's transport. */
export function errorAnswer(
  status: number,
  code: number,
  message: string,
  options: {
    data?: object;
    id?: string | number | null;
    headers?: Record<string, string>;
    retryAfterSeconds?: number;
  } = {},
): Reply {
  const { data, id = null, retryAfterSeconds } = options;
  const error = { code, message, ...(data !== undefined && { data }) };
  const headers = {
    "Content-Type": "application/json",
    ...options.headers,
    ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
  };
  return { status, headers, body: JSON.stringify({ jsonrpc: "2.0", error, id }) };
}

/** A message of its own as an SSE stream, or as JSON. */
export function messageAnswer(
  message: object,
  format: "sse" | "json",
  headers: Record<string, string>,
): Reply {
  const text = JSON.stringify(message);
  const type = format === "json" ? "application/json" : "text/event-stream";
  return {
    status: 200,
    headers: { "Content-Type": type, "Cache-Control": "no-cache, no-transform", ...headers },
    body: format === "json" ? text : `event: message\ndata: ${text}\n\n`,
  };
}

/**
 * The answer to every id that is not a session of the caller: unknown, ended, expired, another's.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function sessionNotFound(): Reply {
  return errorAnswer(404, -32001, "Session not found");
}

export function tooMany(message: string, retryAfterSeconds = 1): Reply {
  return errorAnswer(429, -32000, message, { retryAfterSeconds });
}

/** The request may be tried again, here or on another replica. */
export function unavailable(message: string, retryAfterSeconds = 1): Reply {
  return errorAnswer(503, -32000, message, { retryAfterSeconds });
}
