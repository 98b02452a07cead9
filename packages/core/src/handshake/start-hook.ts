import { abortable } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { type LiveSession } from "../session/live-session.ts";
import { createSessionSlot, slotState } from "../session/session-slot.ts";
import type { SessionSlot } from "../session/session-slot.ts";
import type { ToolList } from "../session/session-snapshot.ts";

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

/**
 * Runs `onStart` on a session that is acknowledged and not yet saved.
 *
 * @returns the tools, if the hook listed them
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` with the hook's failure as cause
 */
export async function runStartHook({
  onStart,
  reason,
  session,
  url,
  createFetch,
  timeoutMs,
}: {
  onStart: OnStart;
  reason: SessionStart["reason"];
  session: LiveSession & { kind: "session" };
  url: URL;
  /** A session fetch that makes no session of its own. */
  createFetch: (slot: SessionSlot) => typeof globalThis.fetch;
  timeoutMs: number;
}): Promise<ToolList | undefined> {
  const slot = createSessionSlot({ version: 1, url: url.href, ...session });
  const state = slotState(slot);
  // Whoever connects, the session is not given up for an older client.
  state.isInUse = true;
  const over = new AbortController();
  const timeout = AbortSignal.timeout(timeoutMs);
  const abortSignal = AbortSignal.any([timeout, over.signal]);
  const sessionFetch = createFetch(slot);
  const fetch: typeof globalThis.fetch = async (input, init) => {
    abortSignal.throwIfAborted();
    return await sessionFetch(input, init);
  };
  try {
    await abortable(Promise.resolve(onStart({ reason, fetch, abortSignal })), abortSignal);
    // The hook may have caught the failure of a request that met the loss.
    if (state.live === undefined) throw new Error("The session was lost while onStart ran.");
  } catch (cause) {
    const why = timeout.aborted ? ` did not end within ${timeoutMs} ms` : " failed";
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `onStart of the session at ${url.origin}${why}; the cause says more. The session was ended, and the next request starts another.`,
      { data: { field: "onStart", origin: url.origin }, cause },
    );
  } finally {
    over.abort(new DOMException("onStart is over.", "AbortError"));
  }
  return slot.snapshot?.kind === "session" ? slot.snapshot.toolList : undefined;
}
