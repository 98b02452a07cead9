import type { CallToolResult, MCPClient } from "@ai-sdk/mcp";
import type { CallOptions } from "../tools/call-tool.ts";
import type { ConnectionToolSet } from "../tools/connection-tool-set.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { EndedSession, StoredSession } from "../slots/session-reports.ts";
import type { ReadyOptions } from "./wait-until-ready.ts";

export interface RunOptions {
  /**
   * Called once when the clients are closed, whatever became of the run, and on `shutdown` of the
   * provider too: the place to commit and to save.
   */
  readonly onClose?: (() => void | Promise<void>) | undefined;
}

/** What a step is given: the tools of all connections, and the registry that they come from. */
export interface SessionTools<CONNECTIONS extends Record<string, McpConnection>> {
  readonly tools: ConnectionToolSet<CONNECTIONS>;
  readonly registry: ConnectionRegistry<CONNECTIONS>;
}

/** A step's live clients, one a connection, built on first use. */
export interface ConnectionRegistry<
  CONNECTIONS extends Record<string, McpConnection> = Record<string, McpConnection>,
> extends AsyncDisposable {
  /** What is declared, for prompts and menus. */
  readonly connections: readonly {
    readonly name: string;
    readonly description: string;
    /** `"process"`: what the server holds lasts as long as the registry. */
    readonly session: "stateful" | "stateless" | "process";
  }[];
  /**
   * The tools of all connections as an AI SDK `ToolSet`, named `<connection>__<tool>`. With a kept
   * tool list nothing is sent.
   *
   * @param options.connections those of these connections alone. @default all
   * @param options.onUnavailable `"omit"` leaves out the tools of a connection that is down and
   *   reports it in an event; `"throw"` throws. @default "omit"
   * @throws {McpSessionError} with `"throw"`: `CONNECTION_UNAVAILABLE`, or the code that says why.
   *   `CONNECTION_INVALID` for an unknown name. The signal's reason when the step is aborted or
   *   disposed of meanwhile
   */
  tools(options?: {
    connections?: readonly (keyof CONNECTIONS & string)[] | undefined;
    onUnavailable?: "omit" | "throw" | undefined;
  }): Promise<ConnectionToolSet<CONNECTIONS>>;
  /**
   * The live `@ai-sdk/mcp` client of a connection, for resources, prompts and direct calls.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, `CONNECTION_UNAVAILABLE`
   */
  client(name: keyof CONNECTIONS & string): Promise<MCPClient>;
  /**
   * A fetch for any other MCP client, one each, with the connection's headers and token and, for a stateful
   * connection, its session. The tokens of an `authProvider` are added to requests without an
   * `Authorization` of their own; they are not renewed, and nobody is asked to log in.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` for an unknown name, and for a stdio connection
   */
  fetch(name: keyof CONNECTIONS & string): typeof globalThis.fetch;
  /** What the servers say about how to use them, by connection; those that are down are left out. */
  instructions(): Promise<Record<string, string>>;
  /**
   * Runs `use` so that all code below it (tools, sub-agents, libraries, whatever they wait for)
   * finds this registry with `currentConnections()`. When the outermost run of a registry is over,
   * the registry is disposed of; that of a lease or of a nested run is left to its owner.
   *
   * A run lasts as long as the stream that `use` returns: a result of `streamText`, a `Response` or a
   * `ReadableStream`, which is returned at once and read to its end in the background. An abort of the step's signal closes the clients at once.
   *
   * @returns what `use` returned, after everything was closed; a stream at once
   */
  run<T>(
    use: (registry: ConnectionRegistry<CONNECTIONS>) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T>;
  /**
   * Calls a tool without a model, by the server's name for it, whether or not it is offered to models.
   *
   * @param input the tool's arguments. @default {}
   * @returns the server's result, also when it is one of an error (`isError`)
   * @throws {McpSessionError} as the tools do
   */
  call(
    connection: keyof CONNECTIONS & string,
    tool: string,
    input?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallToolResult>;
  /**
   * Waits until the server of a connection answers: one that is still starting is asked again, in
   * growing intervals.
   *
   * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` when it did not answer in time; at once what
   *   waiting does not change, such as a refused token. The signal's reason when it is aborted
   */
  ready(connection: keyof CONNECTIONS & string, options?: ReadyOptions): Promise<void>;
  /** The named sessions of the agent session: made, found, listed, used, restarted and ended by name. */
  readonly named: NamedSessions<CONNECTIONS>;
  /**
   * Waits for handshakes in flight, for a bounded time, and closes the clients, the last one opened
   * first. The servers' sessions, and what runs in them, go on; stdio servers end. Never rejects:
   * what could not be closed is the event `close-failed`.
   */
  dispose(): Promise<void>;
}

/** A named session as it is kept. Times are milliseconds since 1970-01-01 UTC. */
export interface NamedSession {
  readonly name: string;
  /** When it was last used, on any of its connections. */
  readonly lastUsedAt: number;
  /** After how long without use it is ended, in milliseconds; the shortest, if they differ. */
  readonly idleTimeoutMs?: number | undefined;
  /** What it consists of. */
  readonly connections: readonly Omit<StoredSession, "sessionId" | "name">[];
}

/**
 * The named sessions of the agent session, of the registry's principal: each is an MCP session of
 * its own on one connection or several, which lasts with the agent session and is found again by
 * its name. Where they are kept in a store, everything may reject with `STORE_FAILED`.
 */
export interface NamedSessions<
  CONNECTIONS extends Record<string, McpConnection> = Record<string, McpConnection>,
> {
  /**
   * Makes a named session now, with its MCP sessions. (`withConnections` makes one on first use.) Two
   * processes that make one of the same name at once go on in the same.
   *
   * @param options.connections on which. @default all stateful ones
   * @param options.idleTimeoutMs after how long without use it is ended, in milliseconds; when the
   *   agent session is used next. With durable sessions at least three times `touchIntervalMs`.
   *   @default never
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is one of that name, and for a
   *   connection that is not stateful; `CONNECTION_UNAVAILABLE`, and then nothing of it is kept
   */
  create(
    name: string,
    options?: {
      readonly connections?: readonly (keyof CONNECTIONS & string)[] | undefined;
      readonly idleTimeoutMs?: number | undefined;
    },
  ): Promise<NamedSession>;
  /** What is kept of one; `undefined` when there is none of that name. Sends nothing. */
  find(name: string): Promise<NamedSession | undefined>;
  /** What is kept of all, by name. Sends nothing. */
  list(): Promise<NamedSession[]>;
  /**
   * Runs `use` with the named session: `withConnections` for all connections that it has, and the
   * others inherited. A part that was ended is made anew.
   *
   * @returns what `use` returned
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is none of that name, or none of its
   *   connections is declared any more
   */
  run<T>(
    name: string,
    use: (registry: ConnectionRegistry<CONNECTIONS>) => T | PromiseLike<T>,
    options?: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<T>;
  /**
   * Ends its MCP sessions on their servers, whether or not they can be reached; the next use of each
   * starts a new one, of which the model is told. What is under way on it fails.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is none of that name
   */
  restart(name: string): Promise<EndedSession[]>;
  /**
   * Forgets its kept tool lists, so that the tools are listed anew.
   *
   * @throws {McpSessionError} `CONNECTION_INVALID` when there is none of that name
   */
  clearTools(name: string): Promise<void>;
  /**
   * Ends its MCP sessions on their servers and forgets it. What could not be ended is kept, to be
   * tried again. Without one of that name it does nothing.
   */
  end(name: string): Promise<EndedSession[]>;
}
