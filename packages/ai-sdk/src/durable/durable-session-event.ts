import type { McpSessionError } from "@durable-mcp/core";

/**
 * What happened between durable sessions and their store. What happens to the connections is told
 * to the provider's `onEvent`.
 *
 * - `adopted`: another process had saved a session first. This one's was ended, and the step goes
 *   on in the other's.
 * - `conflict`: at the end of the step the store held something newer than what the step used, so
 *   nothing was written. The step's results are its own to keep. `stored` says what is there: the
 *   `newer-session` of another process, or `nothing` because it was ended or deleted meanwhile.
 * - `discarded`: what the store held did not parse; the step starts a new session in its place.
 * - `not-ended`: an MCP session that nobody will use could not be ended on its server.
 * - `store-failed`: the store failed where nobody waits for the outcome: at the end of a step, or
 *   while keeping a session from being swept. The error is without its `cause`.
 *
 * No event holds a session id, a token or a principal.
 */
export type DurableSessionEvent = {
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
} & (
  | { readonly type: "adopted" }
  | { readonly type: "conflict"; readonly stored: "newer-session" | "nothing" }
  | { readonly type: "discarded"; readonly reason: "invalid" }
  | {
      readonly type: "not-ended";
      readonly status?: number;
      readonly reason: "refused" | "timeout" | "unreachable";
    }
  | {
      readonly type: "store-failed";
      readonly operation: "close" | "touch";
      readonly error: McpSessionError;
    }
);
