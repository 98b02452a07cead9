import type { Principal } from "@durable-mcp/core";
import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import { runRequired } from "./current-connections.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import { currentAutoSession } from "../registry/auto-session.ts";
import { type ConnectionMode, currentScope, hasScopes, runNested } from "../registry/run-scope.ts";

export interface WithConnectionsOptions {
  /** On whose behalf. Nothing can be inherited under another. @default the principal of the run around */
  readonly principal?: Principal | undefined;
  /** Ends the nested run's own handshakes and listings, and closes its isolated connections. */
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * Runs `use` in a nested run, inside the run around the calling code. It is for sub-agents that share some
 * sessions and not others.
 *
 * @example
 * await Promise.all([
 *   withConnections({ browser: "isolate" }, () => researcher.generate({ prompt })),
 *   withConnections({ browser: "isolate" }, () => buyer.generate({ prompt })),
 * ]);
 *
 * @param modes by connection; all others are inherited
 * @returns what `use` returned, after the isolated sessions were ended
 * @throws {McpSessionError} `RUN_REQUIRED` outside of a run, unless a provider has `autoSession`.
 *   `CONNECTION_INVALID` for an unknown connection or mode, and for one inherited under another
 *   principal. `CONNECTION_UNAVAILABLE` when the run around is over
 */
export async function withConnections<T, CONNECTIONS extends Connections = Connections>(
  modes: { readonly [NAME in keyof CONNECTIONS & string]?: ConnectionMode | undefined },
  use: (registry: ConnectionRegistry<CONNECTIONS>) => T | PromiseLike<T>,
  options: WithConnectionsOptions = {},
): Promise<T> {
  const { principal, abortSignal } = options;
  const nest = { modes, principal, abortSignal };
  const around = currentScope();
  if (around !== undefined) return await runNested(around, nest, use);
  const auto = currentAutoSession();
  if (auto === undefined || !hasScopes()) throw runRequired("withConnections");
  return await auto.run(async () => await runNested(currentScope()!, nest, use));
}
