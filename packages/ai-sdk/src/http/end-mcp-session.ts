import { type Principal, type ActiveSessionSnapshot, endSession } from "@durable-mcp/core";
import { createConnectionFetch } from "./connection-fetch.ts";
import type { ConnectionContext } from "../connection/connection-options.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";

/** The outcome of ending one MCP session on its server, without the error. */
export type McpSessionEnd =
  | { readonly ended: true; readonly status?: number }
  | {
      readonly ended: false;
      readonly reason: "refused" | "timeout" | "unreachable";
      readonly status?: number;
    };

/**
 * Ends one MCP session with DELETE, with the connection's own headers and token. Never rejects, and
 * takes `timeoutMs` at most. The snapshot must be of the connection's URL.
 */
export async function endMcpSession({
  definition,
  connection,
  principal,
  snapshot,
  timeoutMs,
  now,
}: {
  definition: McpClientConnection;
  connection: string;
  principal: Principal;
  snapshot: ActiveSessionSnapshot;
  timeoutMs?: number | undefined;
  now: () => number;
}): Promise<McpSessionEnd> {
  const closing = new AbortController();
  const context: ConnectionContext = { principal, connection, abortSignal: closing.signal };
  try {
    const { ended, status, reason } = await endSession({
      url: definition.options.url,
      snapshot,
      fetch: fetchOnce(definition, context, now),
      timeoutMs,
    });
    const answer = status === undefined ? {} : { status };
    if (ended) return { ended, ...answer };
    // The snapshot has a session, so the reason is never `no-session`.
    return { ended, ...answer, reason: reason as "refused" | "timeout" | "unreachable" };
  } finally {
    // Tells a `getToken` that is still running that nobody waits for it.
    closing.abort();
  }
}

/** A connection's fetch outside of a step's registry. */
export function fetchOnce(
  definition: McpClientConnection,
  context: ConnectionContext,
  now: () => number,
): typeof globalThis.fetch {
  const { authProvider } = definition.options;
  return createConnectionFetch({
    definition,
    context,
    authProvider: async () =>
      typeof authProvider === "function" ? await authProvider(context) : authProvider,
    now,
  }).fetch;
}
