import { notWaiting } from "./waiting-failure.ts";
import type { WaitingContext } from "./waiting-context.ts";
import { shows } from "./waiting-life.ts";
import type { ShownRound } from "./waiting-record.ts";

/**
 * Notes that a graph shows the questions of a call in an interrupt, before it does. The graph's answers have no
 * other sign of the question that they are for.
 *
 * @throws {McpSessionError} `NOT_WAITING` if the call does not wait for an answer to this round; `STORE_FAILED`
 */
export async function showCall(
  { calls }: WaitingContext,
  id: string,
  shown: ShownRound,
): Promise<void> {
  for (;;) {
    const stored = await calls.read(id);
    const isOpen = stored?.call.state === "waiting" && stored.call.round === shown.round;
    if (!isOpen) throw notWaiting(stored?.call.state);
    if (stored.call.shown?.some((each) => each.place === shown.place)) return;
    if ((await calls.replace(stored, shows(stored.call, shown))) !== undefined) return;
  }
}
