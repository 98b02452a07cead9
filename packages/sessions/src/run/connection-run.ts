import type { CallToolResult, McpClient } from "../base/mcp-client.ts";
import type { CallOptions } from "../tools/call-tool.ts";
import type { Connections } from "../declare/mcp-connection.ts";
import type { ListedSession } from "../records/named-slots.ts";
import type { ConnectionInfo, ConnectionStatus, EndedSession } from "../records/session-reports.ts";
import type { RunWaiting } from "../waiting/run-waiting.ts";
import type { RunWatches } from "../waiting/watches.ts";
import type { ReadyOptions, RunOptions } from "./run-options.ts";

/** The run, which a step is given: one live client for each connection, built on first use. */
export interface ConnectionRun<CONNECTIONS extends Connections = Connections>
  extends AsyncDisposable, RunWatches<keyof CONNECTIONS & string> {
  /** The declared connections, for prompts and menus. */
  readonly connections: readonly {
    readonly name: string;
    readonly description: string;
    /** `"process"`: what the server holds lasts as long as the run. */
    readonly session: "stateful" | "stateless" | "process";
  }[];
  /**
   * The live client of a connection, for resources, prompts and direct calls.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name; `CONNECTION_UNAVAILABLE`, or the
   *   code that says why
   */
  client(name: keyof CONNECTIONS & string): Promise<McpClient>;
  /**
   * A fetch for another MCP client; each client needs one of its own. It adds the connection's
   * headers and token and, for a stateful connection, its session. It adds the tokens of an
   * `authProvider` to requests without an `Authorization` header, and never renews them.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, and for a stdio connection
   */
  fetch(name: keyof CONNECTIONS & string): typeof globalThis.fetch;
  /** The servers' instructions, by connection. Servers that are down are left out, if not required. */
  instructions(): Promise<Record<string, string>>;
  /**
   * Runs `use` so that all code below it (tools, sub-agents, libraries, whatever they wait for)
   * finds this run with `currentConnections()`. When all that entered it is over, the run is disposed of;
   * an open run, or a nested one, is left to its owner.
   *
   * A run lasts as long as the stream that `use` returns: a result of `streamText`, a `Response` or a
   * `ReadableStream`, which is returned at once and read to its end in the background. An abort of the
   * step's signal closes the clients at once.
   *
   * @returns what `use` returned, after everything was closed; a stream at once
   */
  enter<T>(
    use: (run: ConnectionRun<CONNECTIONS>) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T>;
  /**
   * Calls a tool without a model, by the server's name for it, whether or not it is offered to models.
   *
   * @param input the tool's arguments; by default `{}`
   * @returns the server's result, also when the tool failed (`isError`)
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown connection; `OUTCOME_UNKNOWN`, `SESSION_LOST`,
   *   `AUTHORIZATION_REQUIRED`, `CONNECTION_UNAVAILABLE`
   */
  call(
    connection: keyof CONNECTIONS & string,
    tool: string,
    input?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallToolResult>;
  /**
   * Waits until the server of a connection answers. A server that is still starting is asked again,
   * in growing intervals.
   *
   * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` when it did not answer in time. Errors that
   *   waiting cannot fix, such as a refused token, are thrown immediately. The signal's reason when it
   *   is aborted
   */
  ready(connection: keyof CONNECTIONS & string, options?: ReadyOptions): Promise<void>;
  /**
   * Describes the connections: whether they are connected, since when, their last use, their sessions.
   * Sends nothing. For the named sessions see `named`.
   */
  info(): Promise<ConnectionInfo[]>;
  /**
   * Asks the servers, each for at most `timeoutMs`. It connects nothing, makes no session and replaces none:
   * a session is pinged, and a server without one is asked for its tools if it is connected.
   *
   * @param options.connection the one connection; by default all
   * @param options.timeoutMs in milliseconds; by default 5000
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name; never because of a server
   */
  status(options?: {
    readonly connection?: (keyof CONNECTIONS & string) | undefined;
    readonly timeoutMs?: number | undefined;
  }): Promise<ConnectionStatus[]>;
  /**
   * Ends the MCP session, or the stdio server, so that the next use starts another, whether or not the
   * server could be reached, and the model is told. A stateless connection connects anew. Calls under way
   * may fail. The tools and clients of this run go on in the new session.
   *
   * @param options.timeoutMs in milliseconds; by default 5000
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name; never because of a server
   */
  restart(
    connection: keyof CONNECTIONS & string,
    options?: { readonly timeoutMs?: number | undefined },
  ): Promise<EndedSession>;
  /**
   * Forgets the kept tool list, so that the next `tools()` asks the server.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name
   */
  clearTools(connection: keyof CONNECTIONS & string): Promise<void>;
  /** The named sessions of the agent session. */
  readonly named: NamedSessions<CONNECTIONS>;
  /** The agent session's calls that wait (`waiting: true`), for the run's principal. */
  readonly waiting: RunWaiting;
  /**
   * Waits for handshakes in flight, for a bounded time, and closes the clients, the last one opened
   * first. The servers' sessions, and what runs in them, go on; stdio servers end. Never rejects: a
   * client that cannot be closed is reported with the event `close-failed`.
   */
  dispose(): Promise<void>;
}

/** What is kept of a named session. Times are milliseconds since 1970-01-01 UTC. */
export interface NamedSession {
  readonly name: string;
  /** The time of the last use, on any of its connections. */
  readonly lastUsedAt: number;
  /**
   * The session ends after this time without use, in milliseconds; the shortest, if its connections
   * differ.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Its parts, one for each connection. */
  readonly connections: readonly Omit<ListedSession, "name">[];
}

/**
 * The named sessions of the agent session, for the run's principal. Each has MCP sessions of
 * its own, on one connection or several. It lasts as long as the agent session, and a later step
 * finds it by its name. The process of a stdio server lasts for the step, or as long as a pool keeps it.
 * With durable sessions every method may reject with `STORE_FAILED`.
 */
export interface NamedSessions<
  CONNECTIONS extends Connections = Connections,
  RUN = ConnectionRun<CONNECTIONS>,
> {
  /**
   * Makes a named session now, with its MCP sessions. (`withConnections` makes one on first use.)
   * Two processes that make the same name at once go on in the same session.
   *
   * @param options.connections the connections of the session; by default all but the stateless ones
   * @param options.idleTimeoutMs the session ends after this time without use, in milliseconds: in a
   *   store at a sweep, in a state in the next step; a process in a pool at once. With durable sessions at least
   *   three times `touchIntervalMs`. By default it never ends
   * @throws {McpSessionError} `CONNECTION_INVALID` when the name is taken, or a connection is
   *   stateless; `CONNECTION_UNAVAILABLE` when a server cannot be reached, and nothing is kept then
   */
  create(
    name: string,
    options?: {
      readonly connections?: readonly (keyof CONNECTIONS & string)[] | undefined;
      readonly idleTimeoutMs?: number | undefined;
    },
  ): Promise<NamedSession>;
  /** Describes a named session; `undefined` for an unknown name. Sends nothing. */
  find(name: string): Promise<NamedSession | undefined>;
  /** Describes all named sessions, sorted by name. Sends nothing. */
  list(): Promise<NamedSession[]>;
  /**
   * Runs `use` with the connections of the named session; the others are inherited. It is
   * `withConnections` for a run in hand, where the runtime has no `AsyncLocalStorage`. Parts
   * that were ended are made anew. `info`, `status`, `restart` and `clearTools` of that run look after them.
   *
   * @returns what `use` returned
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, and when none of its
   *   connections is declared any more
   */
  run<T>(
    name: string,
    use: (run: RUN) => T | PromiseLike<T>,
    options?: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<T>;
  /**
   * Ends the MCP sessions on their servers and forgets the name. A part that cannot be ended is
   * kept, so that you can try again. Does nothing for an unknown name.
   */
  end(name: string): Promise<EndedSession[]>;
}
