import type { MCPClient } from "@ai-sdk/mcp";
import { McpSessionError, sessionFailure, type SessionSlot } from "@durable-mcp/core";

/**
 * The `McpSessionError` behind a client's error: thrown by a fetch of ours, or delivered by the
 * slot's session fetch as a JSON-RPC error. Other errors are returned unchanged.
 */
export function restoreSessionError(
  error: unknown,
  connection: string,
  slot: SessionSlot | undefined,
): unknown {
  const own = McpSessionError.isInstance(error) ? error : slot && sessionFailure(slot, error);
  return own === undefined ? error : withConnection(own, connection);
}

/** The error of a connection that cannot be used. */
export function connectionUnavailable(
  error: unknown,
  connection: string,
  origin: string,
): McpSessionError {
  if (McpSessionError.isInstance(error)) return withConnection(error, connection);
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: the server at ${origin} could not be reached or refused${reason(status, systemCode(error))}. The connection is tried again when it is next used.`,
    {
      data: { connection, origin, ...(typeof status === "number" ? { status } : {}) },
      cause: error,
    },
  );
}

/**
 * The error for an event: without its cause. The cause can be anything that an application or a
 * server threw, tokens included.
 */
export function withoutCause({ code, message, data }: McpSessionError): McpSessionError {
  return new McpSessionError(code, message, { data });
}

/** The error of a tool call that took longer than `timeouts.callMs`. */
export function callTimedOut(
  error: unknown,
  { connection, origin, callMs }: { connection: string; origin: string; callMs: number },
): McpSessionError {
  const method = "tools/call";
  return new McpSessionError(
    "OUTCOME_UNKNOWN",
    `${method} at ${origin}: no answer within ${callMs} ms; whether it was carried out is unknown. Check before you send it again.`,
    { data: { method, origin, connection }, cause: error },
  );
}

function reason(status: unknown, code: string | undefined): string {
  if (typeof status === "number") return ` with HTTP ${status}`;
  if (code !== undefined) return ` (${code})`;
  return "; the cause of the thrown error says why";
}

function withConnection(error: McpSessionError, connection: string): McpSessionError {
  if (error.data.connection !== undefined) return error;
  return new McpSessionError(error.code, error.message, {
    data: { ...error.data, connection },
    cause: error.cause ?? error,
  });
}

/** The error of a use of a registry, or of a run, that is over. */
export function registryDisposed(connection?: string): McpSessionError {
  const start = connection === undefined ? "The" : `Connection ${connection}: the`;
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${start} registry was disposed of, or its run is over. Create one for each step. In a run, wait for all that it starts, or return a stream: the run lasts as long as the stream.`,
    { data: { connection } },
  );
}

/** How deep to look. The chain may be a circle. */
const maxCauses = 10;

/** An error and its causes, those that are objects, outermost first. */
export function causesOf(error: unknown): { name?: unknown; code?: unknown }[] {
  const causes: { name?: unknown; code?: unknown }[] = [];
  let current = error;
  while (typeof current === "object" && current !== null && causes.length < maxCauses) {
    causes.push(current);
    current = (current as { cause?: unknown }).cause;
  }
  return causes;
}

/** The first code of a system error in a chain of causes, such as `ECONNREFUSED`. */
export function systemCode(error: unknown): string | undefined {
  const codes = causesOf(error).map(({ code }) => code);
  return codes.find(
    (code): code is string => typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code),
  );
}

/** The client, whose errors from the session fetch are each an `McpSessionError` again. */
export function withSessionErrors(
  client: MCPClient,
  restoreError: (error: unknown) => unknown,
): MCPClient {
  return new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = value.apply(target, args);
        if (!(result instanceof Promise)) return result;
        return result.catch((error: unknown) => {
          throw restoreError(error);
        });
      };
    },
  });
}
