import type { UIMessage } from "ai";
import type { Page, PageName } from "./page-state.ts";
import type { Failure } from "./retry.ts";
import { placeholdersOf } from "./use-waiting.ts";

/**
 * What a page does:
 *
 * - `loading`: it does not know the chat yet.
 * - `ready`: nothing; it is the user's turn, or a call waits.
 * - `answering`: it sends, or reads an answer.
 * - `following`: it looks how far an answer is that another page or process makes.
 * - `reconnecting`: a connection, a process or a read is lost, and the page tries again by itself.
 * - `failed`: `error` will not pass by itself. `goOn` tries again.
 */
export type ChatPhase = "loading" | "ready" | "answering" | "following" | "reconnecting" | "failed";

/** Those that have another name than the page's state. */
const phases: Partial<Record<PageName, ChatPhase>> = {
  posting: "answering",
  checking: "following",
  pausing: "reconnecting",
};

/** What a page tells of itself. @param unread why its last read has brought nothing */
export function viewOf(
  page: Page,
  unread: Failure | undefined,
  shown: readonly UIMessage[],
): {
  readonly phase: ChatPhase;
  readonly isBusy: boolean;
  readonly error: Error | undefined;
} {
  const { state, isWhole, failure } = page;
  // Nothing is missing, though the server has not said so yet; where a call waits, what it waits for.
  const isThere =
    page.at === "checking" && isWhole && shown.slice(-1).flatMap(placeholdersOf).length === 0;
  const at = isThere ? "ready" : page.at;
  const missed = at === "failed" || at === "posting" || isThere ? undefined : unread;
  const lost = missed && (missed.isPassing ? "reconnecting" : "failed");
  // A failure is told when it is known what becomes of it.
  const told = at === "checking" ? missed : (failure ?? missed);
  return {
    phase: lost ?? phases[at] ?? (at as ChatPhase),
    // What has another name is a POST, or what comes of it.
    isBusy: !isThere && (at in phases || state?.answering === "yes"),
    error: told?.error,
  };
}
