import { type Principal, sessionKey } from "@durable-mcp/core";
import type { ConnectionEvent } from "./connection-event.ts";
import type { McpClientConnection } from "./define-connection.ts";
import { endMcpSession } from "./end-mcp-session.ts";
import { removeSlots, seedSlot } from "./session-state.ts";

/** How the attempt to end one connection's session went. Holds no id, token or principal. */
export interface TerminateConnectionResult {
  readonly connection: string;
  /** Whether the session is over: 2xx, 404 (it already was) or 405 (the server ends it itself). */
  readonly terminated: boolean;
  /** The HTTP status, when there was an answer. */
  readonly status?: number;
  /**
   * Why not: the server refused, nothing came in time, or no answer that counts: a network error,
   * a redirect, or headers or a token that could not be had.
   */
  readonly reason?: "refused" | "timeout" | "unreachable";
}

/**
 * Ends, all at once, the sessions that a state holds for these connections of one principal. What
 * holds no session that could be ended there is removed, and nothing is sent.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
 */
export async function terminateConnections<SESSION extends { state?: unknown }>({
  session,
  definitions,
  principal,
  timeoutMs,
  emit,
  now,
}: {
  session: SESSION;
  definitions: readonly (readonly [connection: string, definition: McpClientConnection])[];
  principal: Principal;
  timeoutMs: number | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}): Promise<{ session: SESSION; results: TerminateConnectionResult[] }> {
  const attempts = definitions.map(async ([connection, definition]) => {
    const key = sessionKey({ connection, principal });
    const { slot, isDiscarded } = seedSlot(session.state, key);
    const { snapshot } = slot;
    const url = new URL(definition.options.url);
    if (isDiscarded) emit({ type: "discarded", connection, reason: "invalid" });
    const isElsewhere = snapshot !== undefined && snapshot.url !== url.href;
    if (isElsewhere) emit({ type: "discarded", connection, reason: "url" });
    if (snapshot?.kind !== "session" || isElsewhere) return { key };

    const { terminated, status, reason } = await endMcpSession({
      definition,
      connection,
      principal,
      snapshot,
      timeoutMs,
      now,
    });
    const result = {
      connection,
      terminated,
      ...(status !== undefined && { status }),
      ...(reason !== undefined && { reason }),
    };
    return { key, result };
  });
  const outcomes = await Promise.all(attempts);
  const isOver = ({ result }: (typeof outcomes)[number]) => result?.terminated ?? true;
  return {
    session: removeSlots(
      session,
      outcomes.filter(isOver).map(({ key }) => key),
    ),
    results: outcomes.flatMap(({ result }) => result ?? []),
  };
}
