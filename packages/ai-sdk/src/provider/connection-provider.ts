import type { Principal } from "@durable-mcp/core";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { ConnectionPoolOptions } from "../pool/connection-pool.ts";
import type { AutoSessionOptions } from "../registry/auto-session.ts";
import type { ConnectionRegistry, SessionTools } from "../registry/connection-registry.ts";
import type { EndedSession } from "../slots/session-reports.ts";
import type { Streamed } from "../streams/read-to-end.ts";

type Connections = Record<string, McpConnection>;

export interface ConnectionProviderOptions<CONNECTIONS extends Connections> {
  /**
   * The declared servers by name, or a function of the principal that returns them. Names are
   * lower case: `^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`.
   */
  connections: CONNECTIONS | ((principal: Principal | undefined) => CONNECTIONS);
  /**
   * Keeps live clients, and stdio servers, between the runs of one agent session and principal in
   * this process; never for another one. For processes that live long. @default none
   */
  pool?: ConnectionPoolOptions | undefined;
  /**
   * For scripts that open nothing by hand: outside of any run `currentConnections()` and
   * `withConnections` then use one implicit registry of the process. Its sessions are made on first
   * use and ended when the process has nothing more to do, or was idle for `idleTimeoutMs`; then
   * they are made again on the next use. One provider of a process may have it. @default none
   */
  autoSession?: AutoSessionOptions | undefined;
  /**
   * Told what happens to connections, to their sessions, and between durable sessions and their
   * store. @default warns of store failures on the console
   */
  onEvent?: ((event: ConnectionEvent) => void) | undefined;
  /** Measures what connections do: `openTelemetry()`, for example. @default none */
  telemetry?: ConnectionTelemetry | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}

/** For whom, and from what, a run on state that the application carries is opened. */
export interface StateRunOptions<SESSION extends { state?: unknown }> {
  /** The agent session. Its `state` is data from outside, parsed strictly. */
  readonly session: SESSION;
  /** On whose behalf; never taken from the state. Needed as soon as one connection is stateful. */
  readonly principal?: Principal | undefined;
  /** Names the agent session to the provider's pool. Not pooled without it. */
  readonly sessionId?: string | undefined;
  /** Ends handshakes and listings of the step, and the reading of a stream; closes the clients. */
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * Saves the agent session when it has changed. Called once when the clients are closed, whatever
   * became of the run, and on `shutdown` too. When it fails, the run rejects with its error, unless
   * the run has one of its own (event `close-failed`).
   */
  readonly onSession?: ((session: SESSION) => void | Promise<void>) | undefined;
}

/** What a run on state gives: what its function returned, and the agent session to save. */
export interface StateRunResult<T, SESSION> {
  readonly result: T;
  /**
   * The agent session with what changed in its state; the same object when nothing did. With a
   * stream a promise, as the values of `streamText` are: it resolves when the stream has ended and
   * all is closed.
   */
  readonly session: T extends Streamed ? Promise<SESSION> : SESSION;
}

/** Builds a step's registry from state, and writes what changed back into it. */
export interface ConnectionProvider<CONNECTIONS extends Connections = Connections> {
  /**
   * Runs a step on state that the application carries: seeds the sessions, connects their tools,
   * and closes the clients, whatever happens. A run lasts as long as the stream that `step` returns:
   * a result of `streamText`, a `Response` or a `ReadableStream`.
   *
   * @example
   * const { result, session } = await provider.run({ session: loaded, principal }, ({ tools }) =>
   *   generateText({ model, tools, prompt, stopWhen: stepCountIs(10) }));
   *
   * @returns what `step` returned and the agent session to save; with a stream at once
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; what `step` throws, and
   *   then `onSession` alone is told of what changed
   */
  run<T, SESSION extends { state?: unknown }>(
    options: StateRunOptions<SESSION>,
    step: (session: SessionTools<CONNECTIONS>) => T | PromiseLike<T>,
  ): Promise<StateRunResult<T, SESSION>>;
  /**
   * Seeds one slot per stateful connection. Sends nothing.
   *
   * @param options.state `session.state` of the agent session: data from outside, parsed strictly
   * @param options.principal on whose behalf; never taken from the state. Needed as soon as one
   *   connection is stateful
   * @param options.sessionId names the agent session to the provider's pool. Not pooled without it
   * @param options.abortSignal ends handshakes and listings of the step
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
   */
  create(options: {
    state?: unknown;
    principal?: Principal | undefined;
    sessionId?: string | undefined;
    abortSignal?: AbortSignal | undefined;
  }): ConnectionRegistry<CONNECTIONS>;
  /**
   * The agent session with the registry's changed slots in its state. Works before and after
   * `dispose`, after success and after failure. Inputs are not mutated; the same object comes back
   * when nothing changed.
   */
  commit<SESSION extends { state?: unknown }>(
    registry: ConnectionRegistry<CONNECTIONS>,
    session: SESSION,
  ): SESSION;
  /**
   * Ends the MCP sessions that the agent session's state holds for one principal, on their servers,
   * with one DELETE each, all at once. The agent session comes back without them, and with those
   * that could not be ended, to be tried again. Inputs are not mutated; the same object comes back
   * when nothing changed.
   *
   * @param options.principal whose sessions; those of others are not touched
   * @param options.connection the one connection to end the sessions of. @default all
   * @param options.name the one named session to end. @default all, and those without a name
   * @param options.timeoutMs how long to wait for each, the token included, in milliseconds.
   *   @default 5000
   * @returns with `results`, one for each session that was to be ended on a server
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; nothing that a server
   *   does is thrown
   */
  end<SESSION extends { state?: unknown }>(
    session: SESSION,
    options: {
      principal: Principal;
      connection?: (keyof CONNECTIONS & string) | undefined;
      name?: string | undefined;
      timeoutMs?: number | undefined;
    },
  ): Promise<{ session: SESSION; results: EndedSession[] }>;
  /**
   * For the end of the process, such as on SIGTERM: closes all that is open (registries, runs,
   * leases) and writes what changed: durable sessions are saved, `onClose` of each run is called.
   * What still runs fails at its next use of a connection, and no registry can be created any more.
   * Never rejects; a run whose `onClose` fails rejects itself.
   *
   * @param options.timeoutMs how long to wait for all of it, in milliseconds. @default 10000
   */
  shutdown(options?: { timeoutMs?: number | undefined }): Promise<void>;
}
