/** An HTTP error with a JSON-RPC body, as the official SDK's transport answers. */
export function errorAnswer(
  status: number,
  code: number,
  message: string,
  options: { data?: object; headers?: Record<string, string>; id?: string | number | null } = {},
): Response {
  const { data, headers, id = null } = options;
  const error = { code, message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: "2.0", error, id }, { status, ...(headers && { headers }) });
}

/**
 * What every id gets that is not a session of the one who asks: unknown, ended, expired, another's.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function sessionNotFound(): Response {
  return errorAnswer(404, -32001, "Session not found");
}

/** For what may be tried again, here or on another replica. */
export function unavailable(message: string, retryAfterSeconds: number): Response {
  return errorAnswer(503, -32000, message, {
    headers: { "Retry-After": String(retryAfterSeconds) },
  });
}
