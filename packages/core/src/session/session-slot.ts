import { createSharedTask } from "../base/shared-task.ts";
import { openedSession, phaseOf, type SlotState, takeLossNotice } from "./session-life.ts";
import type { ActiveSessionSnapshot, SessionSnapshot } from "./session-snapshot.ts";

/** Holds, for one step, the MCP session of one connection and principal. */
export interface SessionSlot {
  /** The snapshot to save for the next step; `undefined` while there is nothing to save. */
  readonly snapshot: SessionSnapshot | undefined;
  /** Whether `snapshot` differs from the one the slot was created with. */
  readonly changed: boolean;
  /**
   * A session that the server made but the fetch did not save, because the handshake did not finish. End
   * it with `endSession` when you give the slot up, because nobody else knows it.
   */
  readonly unfinished: ActiveSessionSnapshot | undefined;
  /**
   * Returns `true` once after the session took the place of a lost one, in this step or an earlier one.
   * The server no longer has the contents of the lost session.
   */
  takeLossNotice(): boolean;
  /** Waits until no handshake is under way, so that no half-made session is left behind. */
  settle(): Promise<void>;
}

const states = new WeakMap<SessionSlot, SlotState>();

/**
 * Creates the slot of one connection and principal for one step.
 *
 * @param snapshot the snapshot of an earlier step, from `parseSessionSnapshot`
 */
export function createSessionSlot(snapshot?: SessionSnapshot): SessionSlot {
  const state: SlotState = {
    phase: phaseOf(snapshot),
    url: undefined,
    snapshot,
    isClientTold: false,
    isLossUntold: snapshot?.kind === "session" && snapshot.replacesLost === true,
    clientParams: undefined,
    liveListeners: new Set(),
    tools: { pages: new Map() },
    stream: { isOpen: false, opening: undefined },
    failures: new Map(),
    tasks: { opening: createSharedTask(), ensuring: createSharedTask() },
  };
  const slot: SessionSlot = {
    get snapshot() {
      return state.snapshot;
    },
    get changed() {
      return state.snapshot !== snapshot;
    },
    get unfinished() {
      const { url } = state;
      const session = openedSession(state);
      if (session?.kind !== "session" || url === undefined) return undefined;
      return { version: 1 as const, url, ...session };
    },
    takeLossNotice: () => takeLossNotice(state),
    async settle() {
      for (;;) {
        const underWay = Object.values(state.tasks).flatMap(({ current }) => current ?? []);
        if (underWay.length === 0) return;
        await Promise.allSettled(underWay);
      }
    },
  };
  states.set(slot, state);
  return slot;
}

/** The inside of a slot. */
export function slotState(slot: SessionSlot): SlotState {
  const state = states.get(slot);
  if (state === undefined) {
    throw new TypeError("slot must come from createSessionSlot of this copy of @durable-mcp/core.");
  }
  return state;
}
