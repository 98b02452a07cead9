import { McpSessionError, type McpSessionErrorCode } from "@durable-mcp/core";

const codesInAnswers: ReadonlySet<unknown> = new Set<McpSessionErrorCode>([
  "OUTCOME_UNKNOWN",
  "SESSION_LOST",
]);

/**
 * The `McpSessionError` behind a client's error. A failure after the response headers reaches a
 * client as a JSON-RPC error with our code in `data`; anything else is returned as it is.
 */
export function restoreSessionError(error: unknown, connection: string): unknown {
  if (McpSessionError.isInstance(error)) return withConnection(error, connection);
  const { data, message } = (error ?? {}) as { data?: unknown; message?: unknown };
  const { code, method, origin } = (data ?? {}) as Record<string, unknown>;
  if (!codesInAnswers.has(code) || typeof message !== "string") return error;
  return new McpSessionError(code as McpSessionErrorCode, message, {
    data: { method: String(method), origin: String(origin), connection },
    cause: error,
  });
}

/** Why a connection's tools are missing. */
export function connectionUnavailable(
  error: unknown,
  connection: string,
  origin: string,
): McpSessionError {
  const restored = restoreSessionError(error, connection);
  if (McpSessionError.isInstance(restored)) return restored;
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: the server at ${origin} could not be reached or refused${typeof status === "number" ? ` with HTTP ${status}` : ""}; see the cause. The connection is tried again when it is next used.`,
    {
      data: { connection, origin, ...(typeof status === "number" ? { status } : {}) },
      cause: error,
    },
  );
}

function withConnection(error: McpSessionError, connection: string): McpSessionError {
  if (error.data.connection !== undefined) return error;
  return new McpSessionError(error.code, error.message, {
    data: { ...error.data, connection },
    cause: error.cause ?? error,
  });
}
