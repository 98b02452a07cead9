import { abortable } from "../base/bounded-wait.ts";
import type { SessionContext } from "../session/session-context.ts";
import { handshakeTimedOut } from "../session/session-errors.ts";
import type { SessionSlot } from "../session/session-slot.ts";
import type { ToolListKeeper } from "../tools/tool-list.ts";
import type { OnSession, OnStart } from "./session-hooks.ts";

/** What it takes to make a session. */
export interface HandshakeContext extends SessionContext {
  readonly tools: ToolListKeeper;
  readonly onSession: OnSession | undefined;
  readonly onStart: OnStart | undefined;
  /** For the client of `onStart`: a session fetch that makes no session of its own. */
  readonly createStartFetch: (slot: SessionSlot) => typeof globalThis.fetch;
  /** Whether a session may be made in a lost one's place. */
  readonly recover: boolean;
  /** How long each request of the handshake may take, in milliseconds. */
  readonly initializeMs: number;
  /** How long `onStart` may take, in milliseconds. */
  readonly startMs: number;
}

/** A request of the handshake, bounded in time also when no caller has a signal. */
export async function inTime<T>(
  { url, initializeMs }: HandshakeContext,
  method: string,
  signal: AbortSignal,
  exchange: (bounded: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(initializeMs);
  try {
    // Not every fetch heeds a signal.
    return await abortable(exchange(AbortSignal.any([signal, timeout])), timeout);
  } catch (cause) {
    if (!timeout.aborted || signal.aborted) throw cause;
    throw handshakeTimedOut(method, url, initializeMs, cause);
  }
}
