import { abortable, startLimit } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { SessionContext } from "../session/session-context.ts";
import type { SessionStart } from "../session/session-fetch-options.ts";
import { liveSession, noteClientTold } from "../session/session-life.ts";
import { createSessionSlot, slotState } from "../session/session-slot.ts";
import type { ActiveSessionSnapshot, ToolList } from "../session/session-snapshot.ts";
import { endpointName } from "../wire/server-endpoint.ts";

/**
 * Calls `onStart` with a new session. Saving and all other requests wait for it.
 *
 * @returns the tools that were listed meanwhile
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`
 */
export async function runStartHook(
  { url, fork, onStart, startMs }: SessionContext,
  snapshot: ActiveSessionSnapshot,
  reason: SessionStart["reason"],
): Promise<ToolList | undefined> {
  if (onStart === undefined) return undefined;
  const slot = createSessionSlot(snapshot);
  const state = slotState(slot);
  // The session must stay, even if the hook's client is older.
  noteClientTold(state);
  const over = new AbortController();
  const abortSignal = over.signal;
  const late = new DOMException(`onStart did not end within ${startMs} ms.`, "TimeoutError");
  const stop = startLimit(startMs, () => over.abort(late), true);
  // It makes no session of its own, and reports nothing twice.
  const forked = fork({ slot, onStart: undefined, onEvent: undefined, onLoss: "report" });
  const fetch: typeof globalThis.fetch = async (input, init) => {
    abortSignal.throwIfAborted();
    return await forked.fetch(input, init);
  };
  try {
    await abortable(Promise.resolve(onStart({ reason, fetch, abortSignal })), abortSignal);
    // The hook may have caught the failure of a request that met the loss.
    if (liveSession(state) === undefined) {
      throw new Error("The session was lost while onStart ran.");
    }
  } catch (cause) {
    const why = abortSignal.reason === late ? ` did not end within ${startMs} ms` : " failed";
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `onStart at ${endpointName(url)}${why}; see the cause. The session was ended, and the next request starts another.`,
      { data: { field: "onStart", origin: url.origin }, cause },
    );
  } finally {
    stop();
    over.abort(new DOMException("onStart is over.", "AbortError"));
  }
  return slot.snapshot?.kind === "session" ? slot.snapshot.toolList : undefined;
}
