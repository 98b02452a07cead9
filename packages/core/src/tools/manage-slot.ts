import {
  compareAndClear,
  discardSnapshot,
  enterLive,
  isToReplace,
  liveSession,
  saveSnapshot,
} from "../session/session-life.ts";
import { type SessionSlot, slotState } from "../session/session-slot.ts";
import {
  type ActiveSessionSnapshot,
  isLost,
  type ToolDefinition,
} from "../session/session-snapshot.ts";
import type { SlotState } from "../session/slot-state.ts";
import { outdated, toolsIn } from "./snapshot-tools.ts";
import { lastList } from "./tool-list.ts";

/** What happens to a slot beside the requests of its session fetch. */
export type ManagedSlot = ReturnType<typeof manageSlot>;

export function manageSlot(slot: SessionSlot) {
  const state = slotState(slot);
  return {
    /**
     * Gives up the session on purpose. The next request makes another, in the place of a lost one. What is kept of a
     * server without sessions is forgotten, so that the next client asks the server.
     *
     * @returns the session, to be ended on its server; `undefined` if there is none
     */
    giveUp: () => giveUpSession(state),
    /**
     * Puts the session that another process has saved into the place of the slot's. Requests under way end on theirs.
     * Nobody has been told yet that the contents of the one before are gone.
     *
     * @param isToldOnce whether it is one client in all processes, which may have been told
     */
    takeUp(session: ActiveSessionSnapshot, isToldOnce = false): void {
      const isInPlace = liveSession(state) !== undefined || isToReplace(state);
      const replacesLost = isToldOnce ? session.replacesLost === true : isInPlace;
      saveSnapshot(state, session);
      enterLive(state, session, replacesLost);
    },
    /** Whether a request on the session has no whole answer yet, or a client listens. */
    isInUse: () => state.underWay.size > 0 || state.stream.isOpen,
    /** The tools that were listed last on the session, if there were any listed; `undefined` without a session. */
    listed: (): { readonly tools?: readonly ToolDefinition[] } | undefined =>
      liveSession(state) && { ...lastList(state) },
    /** Forgets the kept tool list, so that the next `tools/list` goes to the server, and is compared with it. */
    forgetTools(): void {
      const { local, pages } = state.tools;
      state.tools.local = local && { ...local, list: outdated(local.list) };
      pages.clear();
      const { snapshot } = state;
      const cleared = snapshot && toolsIn(snapshot).outdated;
      if (cleared) saveSnapshot(state, cleared);
    },
  };
}

function giveUpSession(state: SlotState): ActiveSessionSnapshot | undefined {
  const { snapshot } = state;
  if (snapshot?.kind === "session") {
    discardSnapshot(state, new URL(snapshot.url));
    const { toolList } = snapshot;
    // The list of the next session is compared with it.
    const left = state.snapshot && toolList && { ...state.snapshot, toolList: outdated(toolList) };
    if (left) saveSnapshot(state, left);
    return snapshot;
  }
  const live = liveSession(state);
  if (live !== undefined) compareAndClear(state, live);
  if (snapshot?.kind === "sessionless" && !isLost(snapshot)) saveSnapshot(state, undefined);
  if (snapshot?.kind === "stateless") {
    const { kept: _, ...others } = snapshot;
    saveSnapshot(state, others);
  }
  return undefined;
}
