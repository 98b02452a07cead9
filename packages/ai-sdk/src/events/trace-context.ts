import { isRecord } from "@durable-mcp/core/internal";
import type { ConnectionTelemetry } from "./connection-telemetry.ts";

/** A fetch that adds the trace context, if there is any, to a client's JSON-RPC requests. */
export function withTraceContext(
  fetch: typeof globalThis.fetch,
  telemetry: ConnectionTelemetry | undefined,
): typeof globalThis.fetch {
  if (telemetry?.traceContext === undefined) return fetch;
  return async (input, init) => {
    const message = parseMessage(init?.body);
    const traced = message && addTraceContext(message, telemetry);
    return await fetch(
      input,
      traced === message ? init : { ...init, body: JSON.stringify(traced) },
    );
  };
}

/**
 * The JSON-RPC message with the trace context in `params._meta`, if it is a request.
 * @see https://modelcontextprotocol.io/community/seps/414-request-meta
 */
export function addTraceContext<MESSAGE extends object>(
  message: MESSAGE,
  telemetry: ConnectionTelemetry | undefined,
): MESSAGE {
  if (!("method" in message && "id" in message)) return message;
  const fields = telemetry?.traceContext?.();
  if (fields === undefined) return message;
  const { params = {} } = message as { params?: Readonly<Record<string, unknown>> };
  const own = params["_meta"] as object | undefined;
  return { ...message, params: { ...params, _meta: { ...fields, ...own } } };
}

function parseMessage(body: unknown): object | undefined {
  // Requests for OAuth go through the same fetch.
  if (typeof body !== "string" || !body.includes('"jsonrpc"')) return undefined;
  try {
    const message: unknown = JSON.parse(body);
    return isRecord(message) ? message : undefined;
  } catch {
    return undefined;
  }
}
