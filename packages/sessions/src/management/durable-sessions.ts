import type { Principal, SessionStore } from "@durable-mcp/core";
import type { InputResponses, WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import type { Connections } from "../declare/mcp-connection.ts";
import type { OnEvent } from "../events/application-event.ts";
import type {
  ConnectionProvider,
  ConnectionProviderOptions,
  UnavailableOptions,
} from "../sessions/connection-provider.ts";
import type { StoredAutoSessionOptions } from "../run/run-options.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import type { AnswerOptions } from "../waiting/run-waiting.ts";
import type { DurableSessionsAdmin } from "./sessions-admin.ts";
import type { OpenRun } from "../sessions/open-run.ts";
import type {
  EndedSession,
  SelectionInTime,
  SessionListQuery,
  SessionPage,
  SessionSelection,
  SessionStatus,
  SharedId,
  StoredSession,
} from "../records/session-reports.ts";

/** The options for keeping sessions, independent of their connections. */
export interface StoredSessionsOptions {
  /** Keeps the sessions. */
  store: SessionStore;
  /**
   * The agent that owns the sessions. Agents in one store do not see each other's sessions.
   * @default "default"
   */
  agent?: string | undefined;
  /**
   * Whether this agent shares the sessions of a principal with all other agents that set `share`. Not
   * together with `agent`. @default false
   */
  share?: boolean | undefined;
  /**
   * A session in use is marked as used at most this often, in milliseconds. Idle times must be at least
   * three times as long. @default 60000
   */
  touchIntervalMs?: number | undefined;
  /**
   * How far the clocks of the processes may be apart, in milliseconds. Whatever its idle time, a session
   * that was used within this time plus three times `touchIntervalMs` is never swept.
   * @default 15 × touchIntervalMs
   */
  clockSkewMs?: number | undefined;
  /**
   * How long one operation of the store may take, in milliseconds. Then it fails with `STORE_FAILED`.
   * It should be longer than the store's own time limit, whose error says more. @default 15000
   */
  storeTimeoutMs?: number | undefined;
  /**
   * Gets the events of connections and of stored sessions, each with the step in which it came. With a
   * `provider` it gets only those of stored sessions, in place of the provider's `onEvent`.
   * @default the provider's; without one, warns on the console as a provider does
   */
  onEvent?: OnEvent | undefined;
  /**
   * The clock, in milliseconds since 1970-01-01 UTC, for the times in the store too. Not with a `provider`, which has
   * one. @default Date.now
   */
  now?: (() => number) | undefined;
}

/** Options of `createConnectionProvider`, for a provider of the sessions' own. */
type OwnProvider<CONNECTIONS extends Connections> = Pick<
  ConnectionProviderOptions<CONNECTIONS>,
  "connections" | "pool" | "telemetry" | "closeTimeoutMs"
>;

/** A provider that other code uses too, from `createConnectionProvider`. */
type GivenProvider<CONNECTIONS extends Connections> = {
  [OPTION in keyof OwnProvider<CONNECTIONS> | "now"]?: undefined;
} & { provider: ConnectionProvider<CONNECTIONS, any> };

/** The connections, or a provider that has them, and the options for keeping their sessions. */
export type DurableSessionsOptions<CONNECTIONS extends Connections> = StoredSessionsOptions & {
  /**
   * For scripts that open nothing by hand: outside of any run `currentConnections()` and
   * `withConnections` then use one implicit run of the process, on the agent session of this id. It is
   * loaded on first use. When it was idle for `idleTimeoutMs`, or the process has nothing more to do, its
   * clients are closed and its sessions saved, not ended. One provider, or one `createDurableSessions`, of a
   * process may have it. @default none
   */
  autoSession?: StoredAutoSessionOptions | undefined;
} & ((OwnProvider<CONNECTIONS> & { provider?: undefined }) | GivenProvider<CONNECTIONS>);

/** The use of an agent session by one principal. */
export interface SessionUse extends UnavailableOptions {
  readonly principal: Principal;
  /** Ends the loading, handshakes and listings of the step, and the hold of attached streams. */
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * When this function is stopped, as a date or in milliseconds since 1970-01-01 UTC. The step leaves calls that may
   * wait earlier, by a tenth of the time until then, at most 5 seconds. @default never
   */
  readonly endsAt?: Date | number | undefined;
}

/**
 * The sessions of an agent, kept in a store. Every method takes the principal and sees only its sessions. It
 * rejects with `STORE_FAILED` if the store fails.
 */
export interface DurableSessions<
  CONNECTIONS extends Connections = Connections,
  RUN = ConnectionRun<CONNECTIONS>,
> {
  /**
   * Loads the agent session's MCP sessions of one principal. A connection is connected when it is first used, or
   * at once if it is required, and all with `onUnavailable: "throw"`. A new session is saved before any call. If several processes make one at once, all use the one that was saved first.
   *
   * @param sessionId your id of the agent session, such as a chat, of at most a few hundred characters
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`, `STORE_FAILED`;
   *   `CONNECTION_UNAVAILABLE`, or the code that says why, if a required connection is down, or any one
   *   with `onUnavailable: "throw"`; the signal's reason if it is aborted
   */
  open(sessionId: string, use: SessionUse): Promise<OpenRun<RUN>>;
  /**
   * Opens, runs, and closes after success and after failure. A run lasts as long as the stream that `step`
   * returns: a result of `streamText`, a `Response` or a `ReadableStream`. The stream is read to its end
   * in the background, unless `abortSignal` aborts.
   *
   * @returns the result of `step`, even if the store failed afterwards (event `store-failed`); a stream at
   *   once, and instead of a `ReadableStream` another one to read
   */
  run<T>(sessionId: string, use: SessionUse, step: (run: RUN) => T | PromiseLike<T>): Promise<T>;
  /**
   * First the connections whose user has to sign in (`auth.authorizationFor`): they have no `id`. Then the agent
   * session's calls that wait, for answers, a sign-in or their server, or are being answered, in the order in which
   * they began to wait. Sends nothing.
   *
   * @throws {McpSessionError} `STORE_FAILED`, or the error of `auth.authorizationFor`
   */
  waiting(sessionId: string, use: { readonly principal: Principal }): Promise<WaitingEntry[]>;
  /**
   * Answers the questions of a waiting call, in any process. No call is carried out twice: only to the server of a
   * task or stream does an answer that may be lost go out again, which ignores the second. It opens no session.
   *
   * @param responses an answer for each question, under the server's keys
   * @param use.round the round that the answers are for; by default any
   * @returns the call: `waiting` if the server asks more, `settled`, `expired` or `outcome-unknown`
   * @throws {McpSessionError} as `answer` of `RunWaiting`
   */
  answer(
    sessionId: string,
    id: string,
    responses: InputResponses,
    use: AnswerOptions & { readonly principal: Principal },
  ): Promise<WaitingCall>;
  /**
   * Looks at each call of the agent session that is due: a task, or a stream that can be resumed (`waiting`). A look
   * goes to the call's own server, on its own session, never before its `pollAfter`, and one process makes it.
   *
   * @returns the calls that were looked at, as they are then
   * @throws {McpSessionError} `STORE_FAILED`
   */
  check(
    sessionId: string,
    use: { readonly principal: Principal; readonly abortSignal?: AbortSignal | undefined },
  ): Promise<WaitingCall[]>;
  /**
   * Takes a waiting call back. A server that keeps it, as a task or a stream, is asked to stop, best effort.
   *
   * @throws {McpSessionError} `NOT_WAITING`, `STORE_FAILED`
   */
  withdraw(
    sessionId: string,
    id: string,
    use: { readonly principal: Principal },
  ): Promise<WaitingCall>;
  /**
   * Describes stored sessions of this agent: one for each connection, and one for each name and each shared id. The
   * order is the store's own.
   */
  list(
    query: SessionSelection<CONNECTIONS> & SessionListQuery,
  ): Promise<SessionPage<StoredSession>>;
  /**
   * Pings each stored session on its server, for at most `timeoutMs`. Makes no session and changes nothing
   * in the store.
   *
   * @param of your id of the agent session, or `{ shared: id }`; as with `restart`, `clearTools` and `end`
   */
  status(of: string | SharedId, selection: SelectionInTime<CONNECTIONS>): Promise<SessionStatus[]>;
  /**
   * Ends MCP sessions, whether or not their servers could be reached. The next use starts new ones, and the model is
   * told. Calls that wait stay, but a call that a server works on in such a session is lost (`OUTCOME_UNKNOWN`).
   */
  restart(of: string | SharedId, selection: SelectionInTime<CONNECTIONS>): Promise<EndedSession[]>;
  /** Forgets the kept tool lists. The next step lists the tools anew. */
  clearTools(of: string | SharedId, selection: SessionSelection<CONNECTIONS>): Promise<void>;
  /**
   * Ends MCP sessions on their servers, then removes them from the store. A session that could not be
   * ended stays in the store, and its next step tries once more. Without `name`, the selected connections'
   * waiting calls are deleted too, whatever their state; the servers of tasks and streams are asked to stop,
   * best effort. Without `connection` either, so are the messages of the chat (`createChatRoute`). Shared sessions do not end with an agent session, only under `{ shared: id }`.
   */
  end(of: string | SharedId, selection: SelectionInTime<CONNECTIONS>): Promise<EndedSession[]>;
  /**
   * Ends all MCP sessions of a principal, of all agents and agent sessions in the store and shared ones,
   * and removes all of the principal's records, whether or not the servers could be reached: also those of
   * waiting calls and chats, as `end` does. After that it forgets the principal's sign-ins (`deleteAll` of each `auth`),
   * which `end` leaves.
   *
   * @returns one entry for each session
   */
  endAll(query: { readonly principal: Principal }): Promise<EndedSession[]>;
  /**
   * For the end of the process, such as on SIGTERM: closes and saves all open sessions. Running code fails
   * at its next use of a connection, and no session can be opened any more. A given `provider` stays open;
   * it has a `shutdown` of its own. Never rejects.
   *
   * @param options.timeoutMs the time limit for all of it, in milliseconds; by default 10000
   */
  shutdown(options?: { timeoutMs?: number | undefined }): Promise<void>;
  /** Sees all principals: for the operator's own programs, never for a user's request. */
  readonly admin: DurableSessionsAdmin;
}
