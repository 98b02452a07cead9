import type { SessionStore } from "@durable-mcp/core";
import { invalid } from "@durable-mcp/core/internal";
import type { ClaimLeg } from "@durable-mcp/core/waiting";
import type { WaitingContext } from "@durable-mcp/core/waiting/internal";
import { waitingLimits } from "../declare/define-connection.ts";
import type { Connections, McpConnection } from "../declare/mcp-connection.ts";

/** Where the waiting calls of an agent session are kept. */
export interface WaitingSource {
  readonly store: SessionStore;
  /** `null` for sessions that agents share. */
  readonly agent: string | null;
  readonly sessionId: string;
  /** Whether the store is a state that the application carries. */
  readonly isCarried?: boolean | undefined;
  /** When the calls of the step have to be left, in milliseconds since 1970-01-01 UTC. @default never */
  readonly leaveAt?: number | undefined;
  /** Has the end of the step do something. @default nobody knows when a step ends */
  readonly atEnd?: WaitingContext["atEnd"];
  /** For a store that does not compare and set across processes. */
  readonly claimLeg?: ClaimLeg | undefined;
  /** How long the end of a leg may take, in milliseconds. @default 10000 */
  readonly closeTimeoutMs?: number | undefined;
  /** The name of the operator who acts. @default the user */
  readonly by?: string | undefined;
}

export function isPausing(definition: McpConnection): boolean {
  return definition.type === "mcp-client" && waitingLimits(definition.options) !== undefined;
}

/** Whether steps may watch the connection's server. */
export function mayWatch({ options }: { readonly options: object }): boolean {
  return waitingLimits(options)?.watch === true;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for a connection whose calls could wait nowhere */
export function refusePausing(declared: Readonly<Connections>): void {
  for (const [connection, definition] of Object.entries(declared)) {
    if (!isPausing(definition)) continue;
    const field = `connections.${connection}.waiting`;
    throw invalid(
      field,
      `${field} needs a place that any process finds, and that lets one process claim an answer: a store (createDurableSessions), or, with state that you carry, a claim function of the provider. Without a claim two processes could send the same answer, and servers carry out both.`,
    );
  }
}
