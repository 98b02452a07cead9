import type { CallToolResult, MCPClient } from "@ai-sdk/mcp";
import type {
  Connections,
  ConnectionRun as RunOfAnyFace,
  NamedSessions as NamedOfAnyFace,
  RunOptions,
  CallOptions,
  RunHold,
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
