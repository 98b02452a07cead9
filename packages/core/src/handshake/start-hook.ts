import { abortable, startLimit } from "../base/bounded-wait.ts";
import { checkFunction, checkMs, checkOptions } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { FeatureOf } from "../session/session-context.ts";
import type { SessionFeature } from "../session/session-fetch-options.ts";
import { liveSession, noteClientTold } from "../session/session-life.ts";
import { createSessionSlot, slotState } from "../session/session-slot.ts";
import { endpointName } from "../wire/server-endpoint.ts";

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

/** Options of `createStartHook`. */
export interface StartHookOptions {
  /**
   * Prepares a new session before it is saved and before anything else is sent on it. If it throws or takes
   * too long, the handshake fails, the session ends, and the slot has none.
   */
  readonly onStart: OnStart;
  /** For `onStart`, in milliseconds. @default 60000 */
  readonly timeoutMs?: number | undefined;
}

/**
 * For `createSessionFetch({ start })`: calls `onStart` with each new session, the first one and those after
 * a recovery. Saving and all other requests wait for it. It is not called for servers that name no session.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createStartHook(options: StartHookOptions): SessionFeature<"StartHook"> {
  checkOptions(options, { onStart: checkFunction, timeoutMs: checkMs });
  const { onStart, timeoutMs = 60_000 } = options;
  checkFunction(onStart ?? null, "onStart");
  const hook: FeatureOf<"start", "StartHook"> = {
    feature: "StartHook",
    async prepare({ url, fork }, snapshot, reason) {
      const slot = createSessionSlot(snapshot);
      const state = slotState(slot);
      // The session must stay, even if the hook's client is older.
      noteClientTold(state);
      const over = new AbortController();
      const abortSignal = over.signal;
      const late = new DOMException(`onStart did not end within ${timeoutMs} ms.`, "TimeoutError");
      const stop = startLimit(timeoutMs, () => over.abort(late), true);
      // It makes no session of its own, and reports nothing twice.
      const forked = fork({ slot, start: undefined, onEvent: undefined, recover: false });
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
        const why = abortSignal.reason === late ? ` did not end within ${timeoutMs} ms` : " failed";
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
    },
  };
  return hook;
}
