import type { SessionEnd } from "@durable-mcp/core";

/** What is stored for one connection of an agent session. Without the MCP session's id. */
export interface StoredSession {
  /** The agent session's id. */
  readonly sessionId: string;
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
  /**
   * - `session`: there is an MCP session.
   * - `lost`: the server lost it or it was ended; the next use starts another.
   * - `sessionless`, `stateless`: the server has no sessions.
   * - `invalid`: it does not parse; the next use starts another.
   */
  readonly kind: "session" | "lost" | "sessionless" | "stateless" | "invalid";
  /** When it was last used or written, in milliseconds since 1970-01-01 UTC. */
  readonly lastUsedAt: number;
  /** When the MCP session was saved, in milliseconds since 1970-01-01 UTC. */
  readonly startedAt?: number | undefined;
  readonly protocolVersion?: string | undefined;
  /** What the server calls itself. */
  readonly server?: { readonly name: string; readonly version: string } | undefined;
  /** The kept tool list: how many, and when they were listed. */
  readonly tools?: { readonly count: number; readonly listedAt: number } | undefined;
  /** After how long without use a named session is ended, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
}

/** What a server says of a stored session. */
export interface SessionStatus {
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
  /** Whether the server answered on the session just now. */
  readonly alive: boolean;
  /**
   * Why not: nothing is stored that could be asked for (`no-session`), the server no longer knows
   * it, refused for another reason, did not answer in time or could not be reached.
   */
  readonly reason?: "no-session" | "lost" | "refused" | "timeout" | "unreachable" | undefined;
  /** The HTTP status, when it says why. */
  readonly status?: number | undefined;
}

/**
 * How the attempt to end one MCP session went, whoever asked for it. Holds no id of an MCP session,
 * token or principal.
 */
export interface EndedSession extends Pick<SessionEnd, "status"> {
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
  /** The agent session's id, of a session that was kept in a store. */
  readonly sessionId?: string | undefined;
  /**
   * Whether no MCP session of it is left: ended, 404 (it was over), 405 (the server ends it), or
   * there was none.
   */
  readonly ended: boolean;
  /**
   * Why it was not ended: the server refused, nothing came in time, or no answer that counts (a
   * network error, a redirect, or headers or a token that could not be had). `undeclared`: there is
   * no such connection, or not at that URL, any more.
   */
  readonly reason?: "refused" | "timeout" | "unreachable" | "undeclared" | undefined;
  /** Whether the store holds nothing of it any more. */
  readonly removed?: boolean | undefined;
}

/** A page of a list; `cursor` is for the next one and missing on the last. */
export interface SessionPage<ENTRY> {
  readonly sessions: readonly ENTRY[];
  readonly cursor?: string | undefined;
}
