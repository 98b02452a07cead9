import type { Principal, SessionStore } from "@durable-mcp/core";
import type { McpConnection } from "../connection/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type {
  ConnectionProvider,
  ConnectionProviderOptions,
} from "../provider/connection-provider.ts";
import type { SessionTools } from "../registry/connection-registry.ts";
import type { SessionLease } from "./session-lease.ts";
import type { DurableSessionsAdmin } from "./sessions-admin.ts";
import type {
  EndedSession,
  SessionPage,
  SessionStatus,
  StoredSession,
} from "../slots/session-reports.ts";

type Connections = Record<string, McpConnection>;

/** How sessions are kept, whatever connections they are of. */
export interface StoredSessionsOptions {
  /** Where the sessions are kept. */
  store: SessionStore;
  /**
   * Which agent the sessions belong to, when several use one store: they do not see each other's.
   * @default "default"
   */
  agent?: string | undefined;
  /** Whether all agents that say so share the sessions of one principal. Without `agent`. @default false */
  share?: boolean | undefined;
  /**
   * How often, at most, a session in use is marked as used, in milliseconds. What is to count as
   * idle has to be at least three times as long. @default 60000
   */
  touchIntervalMs?: number | undefined;
  /**
   * Told what happens to connections, to their sessions, and between these and the store. With a
   * `provider` only the last, which is then not told to the provider's `onEvent`.
   * @default the provider's; without one, warns of store failures on the console
   */
  onEvent?: ((event: ConnectionEvent) => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}

/** Options of `createConnectionProvider`, of which the sessions make one of their own. */
type OwnProvider<CONNECTIONS extends Connections> = Pick<
  ConnectionProviderOptions<CONNECTIONS>,
  "connections" | "pool" | "telemetry"
> & { provider?: undefined };

/** A provider that others use too, from `createConnectionProvider`. */
interface GivenProvider<CONNECTIONS extends Connections> {
  provider: ConnectionProvider<CONNECTIONS>;
  connections?: undefined;
  pool?: undefined;
  telemetry?: undefined;
}

/** The connections, or a provider that has them, and how their sessions are kept. */
export type DurableSessionsOptions<CONNECTIONS extends Connections> = StoredSessionsOptions &
  (OwnProvider<CONNECTIONS> | GivenProvider<CONNECTIONS>);

/** On whose behalf an agent session is used. */
export interface SessionUse {
  readonly principal: Principal;
  /** Ends handshakes and listings of the step, and what holds an attached lease. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** Which of an agent session's connections, of one principal. */
export interface SessionSelection<CONNECTIONS extends Connections = Connections> {
  readonly principal: Principal;
  /** The one connection. @default all */
  readonly connection?: (keyof CONNECTIONS & string) | undefined;
  /** The one named session. @default all, and those without a name */
  readonly name?: string | undefined;
}

/**
 * The sessions of an agent, kept in a store. Everything takes the principal and sees only its
 * sessions. What the store cannot do rejects with `STORE_FAILED`.
 */
export interface DurableSessions<CONNECTIONS extends Connections = Connections> {
  /**
   * Loads the agent session's MCP sessions of one principal and connects their tools. A session
   * that has to be made is saved before anything is called on it; of several processes that make
   * one at once, all go on in the one that was saved first.
   *
   * @param sessionId the agent session, such as a chat or a run: your id, of at most a few hundred characters
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`, `STORE_FAILED`; the
   *   signal's reason when it is aborted
   */
  open(sessionId: string, use: SessionUse): Promise<SessionLease<CONNECTIONS>>;
  /**
   * Opens, runs, and closes, whatever happens. A run lasts as long as the stream that `step` returns:
   * a result of `streamText`, a `Response` or a `ReadableStream`. It is read to its end in the
   * background unless the `abortSignal` aborts.
   *
   * @returns what `step` returned, also when the store failed afterwards (event `store-failed`); a
   *   stream at once, in the place of a `ReadableStream` the one to read
   */
  run<T>(
    sessionId: string,
    use: SessionUse,
    step: (session: SessionTools<CONNECTIONS>) => T | PromiseLike<T>,
  ): Promise<T>;
  /** What is stored for an agent session, one entry a connection and one more for each name. */
  info(sessionId: string, selection: SessionSelection<CONNECTIONS>): Promise<StoredSession[]>;
  /**
   * Asks the servers, with a ping on each stored session, at most `timeoutMs` long. Makes no session
   * and changes nothing in the store.
   *
   * @param selection.timeoutMs in milliseconds. @default 5000
   */
  status(
    sessionId: string,
    selection: SessionSelection<CONNECTIONS> & { readonly timeoutMs?: number | undefined },
  ): Promise<SessionStatus[]>;
  /**
   * Ends MCP sessions, so that the next use starts new ones, whether or not their servers could be
   * reached.
   */
  restart(sessionId: string, selection: SessionSelection<CONNECTIONS>): Promise<EndedSession[]>;
  /** Forgets the kept tool lists, so that the next step lists the tools anew. */
  clearTools(sessionId: string, selection: SessionSelection<CONNECTIONS>): Promise<void>;
  /**
   * Ends MCP sessions on their servers, then removes them from the store. What could not be ended
   * is kept; the next step on it tries once more.
   */
  end(sessionId: string, selection: SessionSelection<CONNECTIONS>): Promise<EndedSession[]>;
  /**
   * The principal's stored sessions of this agent, in an order of the store's own.
   *
   * @param query.name only the sessions of that name; a page may then have fewer than `limit`
   * @param query.limit how many at most, 1 to 1000. @default 100
   */
  list(query: {
    readonly principal: Principal;
    readonly name?: string | undefined;
    readonly cursor?: string | undefined;
    readonly limit?: number | undefined;
  }): Promise<SessionPage<StoredSession>>;
  /**
   * Ends all MCP sessions of a principal, of all agents and agent sessions in the store, and removes
   * all that is stored for it, whether or not the servers could be reached.
   *
   * @returns one entry for each that was there
   */
  endAll(query: { readonly principal: Principal }): Promise<EndedSession[]>;
  /**
   * For the end of the process, such as on SIGTERM: closes what is open on these sessions, and saves
   * it. What still runs fails at its next use of a connection, and no session can be opened any more.
   * A provider that was handed in goes on; it has a `shutdown` of its own. Never rejects.
   *
   * @param options.timeoutMs how long to wait for all of it, in milliseconds. @default 10000
   */
  shutdown(options?: { timeoutMs?: number | undefined }): Promise<void>;
  /** Across principals: for the operator's own programs, never for a user's request. */
  readonly admin: DurableSessionsAdmin;
}
