import { discardSnapshot, liveSession, saveSnapshot } from "../session/session-life.ts";
import { type SessionSlot, slotState } from "../session/session-slot.ts";
import type { ActiveSessionSnapshot } from "../session/session-snapshot.ts";

/**
 * Gives up the session of a slot on purpose. The next request makes another, in the place of a lost one.
 *
 * @returns the session, to be ended on its server; `undefined` if there is none
 */
export function giveUpSession(slot: SessionSlot): ActiveSessionSnapshot | undefined {
  const state = slotState(slot);
  const { snapshot } = state;
  if (snapshot?.kind !== "session") return undefined;
  discardSnapshot(state, new URL(snapshot.url));
  return snapshot;
}

/** Forgets the kept tool list of a slot, so that the next `tools/list` goes to the server. */
export function forgetTools(slot: SessionSlot): void {
  const state = slotState(slot);
  state.tools.local = undefined;
  state.tools.pages.clear();
  const { snapshot } = state;
  if (liveSession(state) === undefined || !snapshot || !("toolList" in snapshot)) return;
  const { toolList: _, ...others } = snapshot;
  saveSnapshot(state, others);
}
