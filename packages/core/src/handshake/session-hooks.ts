import type { ActiveSessionSnapshot, SessionSnapshot } from "../session/session-snapshot.ts";

/** What `onStart` is given. */
export interface SessionStart {
  /** `"started"`: the slot's first session. `"recovered"`: one in the place of a lost one. */
  readonly reason: "started" | "recovered";
  /**
   * Talks to the new session, for any MCP client: its handshake is answered from the session. Works
   * until the hook is over. When the session is lost meanwhile, requests fail with `SESSION_LOST`.
   */
  readonly fetch: typeof globalThis.fetch;
  /** Aborts when the hook takes too long. */
  readonly abortSignal: AbortSignal;
}

/** Prepares a new session before anything else is sent on it. What it throws fails the handshake. */
export type OnStart = (start: SessionStart) => void | Promise<void>;

/** The save point. The snapshot it returns takes the place of the new one, as another process saved it. */
export type OnSession = (
  snapshot: ActiveSessionSnapshot,
) => SessionSnapshot | void | Promise<SessionSnapshot | void>;
