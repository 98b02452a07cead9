import type { Principal, SessionEnd } from "@durable-mcp/core";
import type { ConnectionState, ServerCheck } from "../connection/live-connection.ts";
import type { Connections } from "../declare/mcp-connection.ts";
import type { SlotName } from "./step-slot.ts";

/** Selects sessions of one principal in an agent session. */
export interface SessionSelection<CONNECTIONS extends Connections = Connections> {
  readonly principal: Principal;
  /** The one connection. @default all */
  readonly connection?: (keyof CONNECTIONS & string) | undefined;
  /** The one named session. @default all, and those without a name */
  readonly name?: string | undefined;
}

/** A selection, and how long its use may take. */
export type SelectionInTime<CONNECTIONS extends Connections = Connections> =
  SessionSelection<CONNECTIONS> & {
    /** For each session, a token included, in milliseconds. @default 5000 */
    readonly timeoutMs?: number | undefined;
  };

/** The stored session of one connection, without the MCP session's id. */
export interface StoredSession extends SlotName {
  /** The agent session's id; `undefined` for a shared session, which belongs to none. */
  readonly sessionId?: string | undefined;
  /**
   * - `session`: there is an MCP session.
   * - `lost`: the MCP session was lost or ended; the next use starts another.
   * - `sessionless`, `stateless`: the server has no sessions.
   * - `remembered`: the connection is stateless, and this is what its server allows to keep.
   * - `invalid`: the record does not parse; the next use starts another session.
   * - `newer`: a later release wrote the record, and this one leaves it alone.
   */
  readonly kind:
    | "session"
    | "lost"
    | "sessionless"
    | "stateless"
    | "remembered"
    | "invalid"
    | "newer";
  /** The time of the last use or write, in milliseconds since 1970-01-01 UTC. */
  readonly lastUsedAt: number;
  /** The time when the MCP session was saved, in milliseconds since 1970-01-01 UTC. */
  readonly startedAt?: number | undefined;
  readonly protocolVersion?: string | undefined;
  /** The server's own name and version. */
  readonly server?: { readonly name: string; readonly version: string } | undefined;
  /** The kept tool list: the number of tools, and the time of the listing. */
  readonly tools?: { readonly count: number; readonly listedAt: number } | undefined;
  /** A named session is ended after this time without use, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
}

/** The session of one connection in a state that the application carries. */
export interface CarriedSession extends Omit<StoredSession, "sessionId" | "lastUsedAt"> {
  /** The time of the last use of a named session; the state has none of others. */
  readonly lastUsedAt?: number | undefined;
}

/** A connection of a run. Times are milliseconds since 1970-01-01 UTC. */
export interface ConnectionInfo extends SlotName, ConnectionState {
  /** As in `run.connections`. */
  readonly session: "stateful" | "stateless" | "process";
}

/**
 * A connection of a run, and whether its server answers. A server without a session, and a process, can
 * only be asked when it is connected (`not-connected`).
 */
export interface ConnectionStatus extends ConnectionInfo, ServerCheck {}

/** Whether a server still answers on a stored session. */
export interface SessionStatus extends SlotName {
  /** Whether the server answered on the session just now. */
  readonly alive: boolean;
  /**
   * Why it is not alive. `no-session`: no session is stored. `lost`: the server no longer knows the
   * session. `authorization-required`: the user has to sign in before the server can be asked. `refused`: the
   * server refused for another reason. `timeout`: it did not answer in time. `unreachable`: it could not be
   * reached. `not-connected`: inside a run, there is neither a session nor a live client to ask with.
   */
  readonly reason?: ServerCheck["reason"];
  /** The HTTP status, when the server refused. */
  readonly status?: number | undefined;
}

/** The outcome of ending one MCP session. Holds no id of an MCP session, no token and no principal. */
export interface EndedSession extends SlotName, Pick<SessionEnd, "status"> {
  /** The agent session's id, if a store kept the session and it is not shared. */
  readonly sessionId?: string | undefined;
  /**
   * Whether no MCP session is left: the server ended it, no longer knew it (404), ends sessions by
   * itself (405), or there was none.
   */
  readonly ended: boolean;
  /**
   * Why it did not end. `refused`: the server refused. `timeout`: it did not answer in time.
   * `unreachable`: a network error, a redirect, or a failure to get headers or a token.
   * `undeclared`: the connection is no longer declared, or has another URL. `newer`: a later release
   * wrote the record.
   */
  readonly reason?: "refused" | "timeout" | "unreachable" | "undeclared" | "newer" | undefined;
  /** Whether the record is gone from the store. */
  readonly removed?: boolean | undefined;
}

/** A page of a list. `cursor` leads to the next page; the last page has none. */
export interface SessionPage<ENTRY> {
  readonly sessions: readonly ENTRY[];
  readonly cursor?: string | undefined;
}

/** Names the sessions that all agent sessions of a principal share under an id, on one connection or several. */
export interface SharedId {
  readonly shared: string;
}

/** Selects a page of a list. */
export interface SessionListQuery {
  /** Only those of one agent session, or of one shared id. @default all */
  readonly sessionId?: string | SharedId | undefined;
  /** Only shared sessions, or only others. @default all */
  readonly shared?: boolean | undefined;
  /** Only the sessions of that name; a page may then have fewer than `limit`. */
  readonly name?: string | undefined;
  /** The `cursor` of the page before. @default from the start */
  readonly cursor?: string | undefined;
  /** How many at most, 1 to 1000. @default 100 */
  readonly limit?: number | undefined;
}
