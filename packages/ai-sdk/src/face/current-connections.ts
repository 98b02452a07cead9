import {
  type Connections,
  type ConnectionMode,
  currentConnections as currentRun,
  type CurrentConnectionsOptions,
  withConnections as nestConnections,
  type WithConnectionsOptions,
} from "@durable-mcp/sessions";
import type { ConnectionRun } from "./connection-run.ts";

/**
 * Returns the run around the calling code, however deep below `run.enter`,
 * `sessions.run`, a durable agent or `withConnections` the code is.
 *
 * @example
 * const saveNote = tool({
 *   inputSchema: z.object({ text: z.string() }),
 *   execute: ({ text }) => currentConnections().call("notes", "add_note", { text }),
 * });
 *
 * @throws {McpSessionError} `RUN_REQUIRED` outside of a run, unless there is an `autoSession`
 */
export function currentConnections<CONNECTIONS extends Connections = Connections>(
  options?: CurrentConnectionsOptions<CONNECTIONS>,
): ConnectionRun<CONNECTIONS> {
  return currentRun(options) as ConnectionRun<CONNECTIONS>;
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
 * @throws {McpSessionError} `RUN_REQUIRED` outside of a run, unless there is an `autoSession`.
 *   `CONNECTION_INVALID` for an unknown connection or mode, and for one inherited under another
 *   principal. `CONNECTION_UNAVAILABLE` when the run around is over
 */
export async function withConnections<T, CONNECTIONS extends Connections = Connections>(
  modes: { readonly [NAME in keyof CONNECTIONS & string]?: ConnectionMode | undefined },
  use: (run: ConnectionRun<CONNECTIONS>) => T | PromiseLike<T>,
  options?: WithConnectionsOptions,
): Promise<T> {
  return await nestConnections<T, CONNECTIONS>(modes, use as never, options);
}
