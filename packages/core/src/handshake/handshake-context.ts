import { abortable } from "../base/bounded-wait.ts";
import type { SessionContext } from "../session/session-context.ts";
import { handshakeTimedOut } from "../session/session-errors.ts";
import type { SessionSlot } from "../session/session-slot.ts";
import type { ActiveSessionSnapshot, SessionSnapshot } from "../session/session-snapshot.ts";
import type { ToolListKeeper } from "../tools/tool-list.ts";

/** The context for making a session. */
export interface HandshakeContext extends SessionContext {
  readonly tools: ToolListKeeper;
  readonly onSession: OnSession | undefined;
  readonly onStart: OnStart | undefined;
  /** For the client of `onStart`: a session fetch that makes no session of its own. */
  readonly createStartFetch: (slot: SessionSlot) => typeof globalThis.fetch;
  /** Whether a lost session may be replaced. */
  readonly recover: boolean;
  /** The time limit of each request of the handshake, in milliseconds. */
  readonly initializeMs: number;
  /** The time limit of `onStart`, in milliseconds. */
  readonly startMs: number;
}

/** Makes a request of the handshake with a time limit, even if no caller has a signal. */
export async function inTime<T>(
  { url, initializeMs }: HandshakeContext,
  method: string,
  signal: AbortSignal,
  exchange: (bounded: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(initializeMs);
  try {
    // Some fetches ignore the signal.
    return await abortable(exchange(AbortSignal.any([signal, timeout])), timeout);
  } catch (cause) {
    if (!timeout.aborted || signal.aborted) throw cause;
    throw handshakeTimedOut(method, url, initializeMs, cause);
  }
}

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
