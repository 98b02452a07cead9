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
): Response {
  const { data, id = null, retryAfterSeconds } = options;
  const error = { code, message, ...(data !== undefined && { data }) };
  const headers = {
    ...options.headers,
    ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
  };
  return Response.json({ jsonrpc: "2.0", error, id }, { status, headers });
}

/**
 * The answer to every id that is not a session of the caller: unknown, ended, expired, another's.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function sessionNotFound(): Response {
  return errorAnswer(404, -32001, "Session not found");
}

export function tooMany(message: string, retryAfterSeconds = 1): Response {
  return errorAnswer(429, -32000, message, { retryAfterSeconds });
}

/** The request may be tried again, here or on another replica. */
export function unavailable(message: string, retryAfterSeconds = 1): Response {
  return errorAnswer(503, -32000, message, { retryAfterSeconds });
}
