import type { ActiveSessionSnapshot, SessionSnapshot } from "../session/session-snapshot.ts";

/** The argument of `onStart`. */
export interface SessionStart {
  /** `"started"`: the slot's first session. `"recovered"`: it took the place of a lost one. */
  readonly reason: "started" | "recovered";
  /**
   * For any MCP client. It talks to the new session and answers the client's handshake from it. It works
   * until the hook is over. If the session is lost meanwhile, requests fail with `SESSION_LOST`.
   */
  readonly fetch: typeof globalThis.fetch;
  /** Aborts when the hook takes too long. */
  readonly abortSignal: AbortSignal;
}

/** Prepares a new session before anything else is sent on it. If it throws, the handshake fails. */
export type OnStart = (start: SessionStart) => void | Promise<void>;

/** The save point. If it returns a snapshot, saved by another process, that one replaces the new one. */
export type OnSession = (
  snapshot: ActiveSessionSnapshot,
) => SessionSnapshot | void | Promise<SessionSnapshot | void>;
