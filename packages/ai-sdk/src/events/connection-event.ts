import type { McpSessionError, SessionEvent } from "@durable-mcp/core";

/**
 * What happened to a connection. Beside the events of its session (`started`, `resumed`, `lost`,
 * `recovered`, `sessionless`, `stateless`, `discarded`, `tools-changed`):
 *
 * - `lost` with `exitCode` and `signal`, where there is no `status`: a stdio server's process ended,
 *   and what it held is gone.
 * - `discarded` with reason `"invalid"`: the saved state of the connection did not parse.
 * - `unavailable`: the server could not be reached or refused; the connection's tools are missing.
 *   The error is without its `cause`, which only the thrown one has.
 * - `sse-fallback`: the server only knows the old HTTP+SSE transport, which keeps no session.
 * - `pool`: what the pool did. `hit`, `miss`: whether a run found a live client. `opened`: the pool
 *   holds a new one. `closed`: it holds one less, and why: `idle` for `keepAliveMs`, more than `max`,
 *   `stale` (the agent session goes on in another session), `unhealthy` (the server did not answer,
 *   or refused), `busy` (a run left calls, or gave its fetch to another client) or `shutdown`.
 * - `close-failed`: at the end of a run a client could not be closed; or the session of an isolated
 *   connection, or an idle named session, could not be ended on its server (`status` is the server's,
 *   if it answered). `timeout`: not in time. `not-committed`: `onClose` of a run failed, and the run
 *   rejects with an error of its own.
 * - `peer-version`: `@ai-sdk/mcp` is of a version outside the tested range.
 *
 * No event holds a session id, a token or a principal.
 */
export type ConnectionEvent = {
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
} & (
  | SessionEvent
  | {
      readonly type: "lost";
      readonly method?: undefined;
      readonly status?: undefined;
      readonly exitCode: number | null;
      readonly signal: string | null;
    }
  | { readonly type: "discarded"; readonly reason: "invalid" }
  | { readonly type: "unavailable"; readonly error: McpSessionError }
  | { readonly type: "sse-fallback" }
  | { readonly type: "pool"; readonly action: "hit" | "miss" | "opened" }
  | {
      readonly type: "pool";
      readonly action: "closed";
      readonly reason: "idle" | "max" | "stale" | "unhealthy" | "busy" | "shutdown";
    }
  | {
      readonly type: "close-failed";
      readonly reason: "error" | "not-committed" | "refused" | "timeout" | "unreachable";
      readonly status?: number;
    }
  | {
      readonly type: "peer-version";
      readonly package: string;
      readonly version: string;
      readonly tested: string;
    }
);
