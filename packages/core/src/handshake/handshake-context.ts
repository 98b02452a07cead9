import { abortable } from "../base/bounded-wait.ts";
import type { SessionContext } from "../session/session-context.ts";
import { handshakeTimedOut } from "../session/session-errors.ts";
import type { SessionSlot } from "../session/session-slot.ts";
import type { ToolListKeeper } from "../tools/tool-list.ts";
import type { OnSession, OnStart } from "./session-hooks.ts";

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
