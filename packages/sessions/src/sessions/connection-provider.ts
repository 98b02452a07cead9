import type { Principal } from "@durable-mcp/core";
import type {
  ClaimLeg,
  InputResponses,
  WaitingCall,
  WaitingEntry,
} from "@durable-mcp/core/waiting";
import type { Connections } from "../declare/mcp-connection.ts";
import type { OnEvent } from "../events/application-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { ConnectionPoolOptions } from "../run/process-pool.ts";
import type { AutoSessionOptions } from "../run/run-options.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import type {
  CarriedSession,
  EndedSession,
  SelectionInTime,
  SessionSelection,
  SessionStatus,
} from "../records/session-reports.ts";
import type { Streamed } from "../run/read-to-end.ts";
import type { AnswerOptions } from "../waiting/run-waiting.ts";

/** Options of `createConnectionProvider`. */
export interface ConnectionProviderOptions<CONNECTIONS extends Connections> {
  /**
   * For connections with `waiting: true` on state that you carry. It is called before each answer is sent, and must
   * return `true` once for each `key`, over all processes: such as an insert into a table with a unique key. Without
   * it, two processes with the same state would send the same answer. @default none: such connections need durable
   * sessions
   */
  claim?: ClaimLeg | undefined;
  /**
   * The declared servers by name, or a function of the principal that returns them. Names match
   * `^[a-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*$`; two that differ by case only are refused.
   */
  connections: CONNECTIONS | ((principal: Principal | undefined) => CONNECTIONS);
  /**
   * Keeps stdio servers between the runs of one agent session and principal in this process, and never
   * for another principal. For long-lived processes. @default none
   */
  pool?: ConnectionPoolOptions | undefined;
  /**
   * For scripts that open nothing by hand: outside of any run `currentConnections()` and
   * `withConnections` then use one implicit run of the process. Its sessions are made on first
   * use and ended when the process has nothing more to do, or was idle for `idleTimeoutMs`; then
   * they are made again on the next use. One provider of a process may have it. @default none
   */
  autoSession?: AutoSessionOptions | undefined;
  /**
   * How long the end of a run may take, in milliseconds: everything after its function has returned, and
   * `dispose` of a run, but not your own `onClose` and `onSession`. @default 10000
   */
  closeTimeoutMs?: number | undefined;
  /**
   * Gets the events of connections, of their sessions, and of durable sessions and their store, each with the step
   * in which it came: a function those that an application acts on, `{ every }` all, as an event log does.
   * @default warns on the console of each `warning`, of store failures, of connections that are down or need a
   *   sign-in, and of calls with an unknown outcome
   */
  onEvent?: OnEvent | undefined;
  /** Measures the operations of connections: `openTelemetry()`, for example. @default none */
  telemetry?: ConnectionTelemetry | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}

/** For whom, and with what, a step on state runs. */
interface StepOptions {
  /** The identity that the step acts for; never taken from the state. Required if a connection is stateful. */
  readonly principal?: Principal | undefined;
  /** Names the agent session to the provider's pool, and in events. @default no pool is used */
  readonly sessionId?: string | undefined;
  /** Ends handshakes and listings of the step, and the reading of a stream; closes the clients of a run. */
  readonly abortSignal?: AbortSignal | undefined;
  /** When this function is stopped, as `endsAt` of durable sessions. @default never */
  readonly endsAt?: Date | number | undefined;
}

/** Options of a run on state that the application carries. */
export interface StateRunOptions<SESSION extends { state?: unknown }>
  extends StepOptions, UnavailableOptions {
  /** The agent session. Its `state` is data from outside, parsed strictly. */
  readonly session: SESSION;
  /**
   * Saves the agent session if it has changed. Called once when the clients are closed, after success,
   * after failure and on `shutdown` too. If it fails, the run rejects with its error, unless the run has
   * already failed (event `close-failed`).
   */
  readonly onSession?: ((session: SESSION) => void | Promise<void>) | undefined;
}

/** What a step does without a connection. */
export interface UnavailableOptions {
  /**
   * If a connection is down, `"omit"` goes on without its tools and reports the event `unavailable`;
   * `"throw"` connects all at the begin, and rejects. With a kept tool list nothing is asked, so nobody notices: declare the connection
   * `required` to have its server asked before each step. @default "omit"
   */
  readonly onUnavailable?: "omit" | "throw" | undefined;
}

/** The result of a run on state: its function's result, and the agent session to save. */
export interface StateRunResult<T, SESSION> {
  readonly result: T;
  /**
   * The agent session with the changes in its state; the same object if nothing changed. With a stream it
   * is a promise, like the values of `streamText`: it resolves when the stream has ended and all is
   * closed.
   */
  readonly session: T extends Streamed ? Promise<SESSION> : SESSION;
}

/** Builds a step's run from state, and writes the changes back into it. */
export interface ConnectionProvider<
  CONNECTIONS extends Connections = Connections,
  RUN = ConnectionRun<CONNECTIONS>,
> {
  /**
   * Runs a step on state that the application carries. It seeds the sessions, and closes the clients, after success
   * and after failure. A run lasts as long as the stream that `step`
   * returns: a result of `streamText`, a `Response` or a `ReadableStream`.
   *
   * @example
   * const { result, session } = await provider.run({ session: loaded, principal }, async (run) =>
   *   generateText({ model, tools: await run.tools(), prompt, stopWhen: stepCountIs(10) }));
   *
   * @returns the result of `step` and the agent session to save; with a stream at once
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; `CONNECTION_UNAVAILABLE`, or the
   *   code that says why, if a required connection is down, or any one with `onUnavailable: "throw"`;
   *   the error of `step`, and then only `onSession` gets the changes
   */
  run<T, SESSION extends { state?: unknown }>(
    options: StateRunOptions<SESSION>,
    step: (run: RUN) => T | PromiseLike<T>,
  ): Promise<StateRunResult<T, SESSION>>;
  /**
   * Seeds one slot per stateful connection. Sends nothing.
   *
   * @param options.state `session.state` of the agent session: data from outside, parsed strictly
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; `STATE_INVALID` for an entry that
   *   a later release wrote
   */
  create(options: StepOptions & { readonly state?: unknown }): RUN;
  /**
   * Returns the agent session with the run's changed slots in its state. Works before and after
   * `dispose`, after success and after failure. It mutates nothing; if nothing changed, it returns the same object.
   *
   * @throws {TypeError} for a run that `create` of this provider did not make
   */
  commit<SESSION extends { state?: unknown }>(run: RUN, session: SESSION): SESSION;
  /**
   * Ends one principal's MCP sessions in the agent session's state, on their servers, with one DELETE
   * each, all at once. Returns the agent session without the ended sessions. If one could not be ended, the next step,
   * or the next `end`, tries once more, and the next step starts another. Without `name`, the selected connections'
   * waiting calls go too. It mutates nothing; if nothing changed, it returns the same object.
   *
   * @returns with `results`, one for each session
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; never because of a server
   */
  end<SESSION extends { state?: unknown }>(
    session: SESSION,
    selection: SelectionInTime<CONNECTIONS>,
  ): Promise<{ session: SESSION; results: EndedSession[] }>;
  /**
   * Describes one principal's sessions in the agent session's state. Sends nothing.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
   */
  list(
    session: { readonly state?: unknown },
    selection: SessionSelection<CONNECTIONS>,
  ): Promise<CarriedSession[]>;
  /**
   * Pings each of these sessions on its server, for at most `timeoutMs`. Makes no session.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; never because of a server
   */
  status(
    session: { readonly state?: unknown },
    selection: SelectionInTime<CONNECTIONS>,
  ): Promise<SessionStatus[]>;
  /**
   * Ends these sessions, so that the next use starts new ones, whether or not their servers could be
   * reached, and the model is told. Returns the agent session without them, as `end` does. Names stay.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; never because of a server
   */
  restart<SESSION extends { state?: unknown }>(
    session: SESSION,
    selection: SelectionInTime<CONNECTIONS>,
  ): Promise<{ session: SESSION; results: EndedSession[] }>;
  /**
   * Returns the agent session without these sessions' kept tool lists, so that the next step lists the
   * tools anew. It mutates nothing; if nothing changed, it returns the same object.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
   */
  clearTools<SESSION extends { state?: unknown }>(
    session: SESSION,
    selection: SessionSelection<CONNECTIONS>,
  ): Promise<SESSION>;
  /**
   * What waits, as `waiting` of durable sessions. Sends nothing.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`; the error of `auth.authorizationFor`
   */
  waiting(
    session: { readonly state?: unknown },
    use: { readonly principal: Principal },
  ): Promise<WaitingEntry[]>;
  /**
   * Answers the questions of a waiting call: one request, after `claim` of the provider has allowed it. It mutates
   * nothing.
   *
   * @param use.onSession saves the agent session, after success, and after a failure that has changed its state
   * @returns the call as it is then, and the agent session to save
   * @throws {McpSessionError} as `answer` of `RunWaiting`. `NOT_WAITING` also where another process has
   *   claimed the answer: if that process died, only `withdraw` ends the call
   */
  answer<SESSION extends { state?: unknown }>(
    session: SESSION,
    id: string,
    responses: InputResponses,
    use: AnswerOptions &
      Pick<StateRunOptions<SESSION>, "onSession"> & { readonly principal: Principal },
  ): Promise<{ session: SESSION; call: WaitingCall }>;
  /** Looks at each call that is due, as `check` of durable sessions, after `claim` has allowed it. */
  check<SESSION extends { state?: unknown }>(
    session: SESSION,
    use: Pick<StateRunOptions<SESSION>, "abortSignal" | "onSession"> & {
      readonly principal: Principal;
    },
  ): Promise<{ session: SESSION; calls: WaitingCall[] }>;
  /** Takes a waiting call back. @throws {McpSessionError} `NOT_WAITING` */
  withdraw<SESSION extends { state?: unknown }>(
    session: SESSION,
    id: string,
    use: { readonly principal: Principal },
  ): Promise<{ session: SESSION; call: WaitingCall }>;
  /**
   * For the end of the process, such as on SIGTERM. It closes all open runs, saves
   * durable sessions and calls the `onClose` of each run. Running code fails at its next use of a
   * connection, and no run can be created any more. Never rejects; a run whose `onClose` fails
   * rejects itself.
   *
   * @param options.timeoutMs the time limit for all of it, in milliseconds; by default 10000
   */
  shutdown(options?: { timeoutMs?: number | undefined }): Promise<void>;
}
