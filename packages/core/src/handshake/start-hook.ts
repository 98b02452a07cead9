import { abortable } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { LiveSession } from "../session/live-session.ts";
import { liveSession, noteClientTold } from "../session/session-life.ts";
import { createSessionSlot, slotState } from "../session/session-slot.ts";
import type { ToolList } from "../session/session-snapshot.ts";
import type { HandshakeContext } from "./handshake-context.ts";
import type { SessionStart } from "./handshake-context.ts";

/**
 * Runs `onStart`, if there is one, on a session that is acknowledged but not yet saved.
 *
 * @returns the tools, if the hook listed them
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` with the hook's failure as cause
 */
export async function runStartHook(
  { url, onStart, createStartFetch, startMs }: HandshakeContext,
  session: LiveSession & { readonly kind: "session" },
  reason: SessionStart["reason"],
): Promise<ToolList | undefined> {
  if (onStart === undefined) return undefined;
  const slot = createSessionSlot({ version: 1, url: url.href, ...session });
  const state = slotState(slot);
  // The session must stay, even if the hook's client is older.
  noteClientTold(state);
  const over = new AbortController();
  const timeout = AbortSignal.timeout(startMs);
  const abortSignal = AbortSignal.any([timeout, over.signal]);
  const sessionFetch = createStartFetch(slot);
  const fetch: typeof globalThis.fetch = async (input, init) => {
    abortSignal.throwIfAborted();
    return await sessionFetch(input, init);
  };
  try {
    await abortable(Promise.resolve(onStart({ reason, fetch, abortSignal })), abortSignal);
    // The hook may have caught the failure of a request that met the loss.
    if (liveSession(state) === undefined)
      throw new Error("The session was lost while onStart ran.");
  } catch (cause) {
    const why = timeout.aborted ? ` did not end within ${startMs} ms` : " failed";
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `onStart at ${url.origin}${why}; see the cause. The session was ended, and the next request starts another.`,
      { data: { field: "onStart", origin: url.origin }, cause },
    );
  } finally {
    over.abort(new DOMException("onStart is over.", "AbortError"));
  }
  return slot.snapshot?.kind === "session" ? slot.snapshot.toolList : undefined;
}
