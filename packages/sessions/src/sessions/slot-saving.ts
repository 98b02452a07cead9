import type { ActiveSessionSnapshot } from "@durable-mcp/core";
import { isStoreFailure } from "../base/store-failure.ts";
import type { SeenSessions } from "./seen-sessions.ts";
import type { SlotContext } from "./sessions-context.ts";
import {
  changeAtEnd,
  mayCreate,
  otherSession,
  saveSession,
  sessionGone,
  type SlotInStep,
} from "./slot-in-step.ts";

/** What a slot says to the store, and hears from it, during a step. */
export function createSaving(
  { emit }: SlotContext,
  step: SlotInStep,
  seen: SeenSessions | undefined,
) {
  const { of, cell, unused, slot, used } = step;
  const saving = {
    /** Goes on in the session that another process has saved, if there is one, as of the last look. */
    adopt: async () => {
      const { session, startedAt } = otherSession(step) ?? {};
      if (session === undefined) return undefined;
      emit({ type: "adopted", ...of });
      const untold = { ...session, replacesLost: true } as const;
      const own = seen ? seen.use(startedAt, session, untold) : session;
      step.base = own;
      await seen?.save(own);
      return own;
    },
    findSession: async () => {
      await cell.reload();
      if (!mayCreate(step) && !cell.isStored) throw sessionGone(of);
      return await saving.adopt();
    },
    onSession: async (own: ActiveSessionSnapshot) => {
      try {
        const { saved, startedAt } = await saveSession(step, own).catch(async (error: unknown) => {
          if (!isStoreFailure(error)) throw error;
          // It may have been done: the store is asked, and a write that was not done is done once more.
          await cell.reload();
          return await saveSession(step, own);
        });
        if (saved !== own) emit({ type: "adopted", ...of });
        step.base = seen ? seen.use(startedAt, saved, own) : saved;
        await seen?.save(step.base);
        return step.base;
      } catch (error) {
        // The store may have saved it all the same. The next step then finds it ended and starts
        // another; this step must not take it for another process's.
        used.add(own.sessionId);
        unused.end(own);
        throw error;
      }
    },
    /** Writes the changes since the last save, if there are any. */
    write: async (): Promise<boolean> => {
      const final = slot.snapshot;
      let isWritten = false;
      await cell.update((record) => {
        const { next, conflict } = changeAtEnd(step, record);
        if (conflict) emit({ type: "conflict", ...of, stored: conflict });
        isWritten = next !== "leave";
        return next;
      });
      if (isWritten) step.base = final;
      await seen?.save(slot.snapshot);
      return isWritten;
    },
  };
  return saving;
}
