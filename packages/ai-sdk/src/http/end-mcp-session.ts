import { type Principal, type SessionSnapshotOfSession, terminateSession } from "@durable-mcp/core";
import { createConnectionFetch } from "./connection-fetch.ts";
import type { ConnectionContext } from "../connection/connection-options.ts";
import type { EndingOutcome } from "../slots/stored-session.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";

/**
 * Ends one MCP session with DELETE, with the connection's own headers and token. Never rejects, and
 * takes `timeoutMs` at most. The snapshot has to be for the connection's URL.
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
  snapshot: SessionSnapshotOfSession;
  timeoutMs?: number | undefined;
  now: () => number;
}): Promise<EndingOutcome> {
  const closing = new AbortController();
  const context: ConnectionContext = { principal, connection, abortSignal: closing.signal };
  try {
    const { terminated, status, reason } = await terminateSession({
      url: definition.options.url,
      snapshot,
      fetch: fetchOnce(definition, context, now),
      timeoutMs,
    });
    return {
      terminated,
      ...(status !== undefined && { status }),
      ...(reason !== undefined && reason !== "no-session" && { reason }),
    };
  } finally {
    // A `getToken` that did not come back in time learns that nobody waits for it.
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
