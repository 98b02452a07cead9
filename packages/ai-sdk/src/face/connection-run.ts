import type { CallToolResult, MCPClient } from "@ai-sdk/mcp";
import {
  type CallOptions,
  type ConnectionMode,
  type ConnectionRun as RunOfAnyFace,
  type Connections,
  currentConnections as currentRun,
  type CurrentConnectionsOptions,
  type NamedSessions as NamedOfAnyFace,
  type RunHold,
  type RunOptions,
  withConnections as nestConnections,
  type WithConnectionsOptions,
} from "@durable-mcp/sessions";
import type { RunWaiting } from "../messages/run-waiting.ts";
import type { ConnectionToolSet } from "../tool-set/connection-tool-set.ts";

/** The run, which a step is given: its tools, and one live client for each connection, built on first use. */
export interface ConnectionRun<
  CONNECTIONS extends Connections = Connections,
> extends RunOfAnyFace<CONNECTIONS> {
  /**
   * The tools of all connections as an AI SDK `ToolSet`, named `<connection>__<tool>` or by the connection's
   * `toolNames`. Tools of several connections with one name are left out: `"omit"` reports it in the event
   * `tools-collide`, `"throw"` throws `CONNECTION_INVALID`.
   *
   * With a kept tool list nothing is sent, so `"throw"` does not find a server that died since. The server
   * of a `required` connection is asked, once a step.
   *
   * @param options.connections only the tools of these; by default all
   * @param options.onUnavailable `"omit"`, the default, leaves out the tools of a connection that is down
   *   and reports it in an event; `"throw"` throws
   * @throws {McpSessionError} with `"throw"`, and for a required connection: `CONNECTION_UNAVAILABLE`, or
   *   the code that says why. `CONNECTION_INVALID` for an unknown name. The signal's reason when the step is
   *   aborted, or the run disposed of, meanwhile
   */
  tools(options?: {
    connections?: readonly (keyof CONNECTIONS & string)[] | undefined;
    onUnavailable?: "omit" | "throw" | undefined;
  }): Promise<ConnectionToolSet<CONNECTIONS>>;
  /**
   * The live `@ai-sdk/mcp` client of a connection, for resources, prompts and direct calls.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name; `CONNECTION_UNAVAILABLE`, or the
   *   code that says why
   */
  client(name: keyof CONNECTIONS & string): Promise<MCPClient>;
  enter<T>(
    use: (run: ConnectionRun<CONNECTIONS>) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T>;
  call(
    connection: keyof CONNECTIONS & string,
    tool: string,
    input?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallToolResult>;
  /** The named sessions of the agent session. */
  readonly named: NamedSessions<CONNECTIONS>;
  /** The agent session's calls that wait (`waiting: true`), for the run's principal. */
  readonly waiting: RunWaiting;
}

/** The named sessions of the agent session, for the run's principal. */
export interface NamedSessions<
  CONNECTIONS extends Connections = Connections,
> extends NamedOfAnyFace<CONNECTIONS, ConnectionRun<CONNECTIONS>> {}

/** A run that its holder closes: one step's hold on an agent session. */
export interface OpenRun<CONNECTIONS extends Connections = Connections>
  extends ConnectionRun<CONNECTIONS>, RunHold {
  dispose(): Promise<void>;
}

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
