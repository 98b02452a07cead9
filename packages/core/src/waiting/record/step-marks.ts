/**
 * The calls of a step that perhaps no conversation has. The first entry of a call whose record was written before it was
 * sent stands until its step has ended. While the step lives, it puts the entry off; a later step that makes such a call
 * again joins the one of a step that has died.
 */

import { isRecord } from "../../base/json-values.ts";
import { isNewerFormat } from "../../session/snapshot-shape.ts";
import type { SessionStore } from "../../stores/session-store.ts";
import { defaultClaimMs, dueKey, prefixOf, referenceStart } from "./due-calls.ts";
import type { WaitingOwner } from "./waiting-key.ts";

/** The most that a step looks through. */
const maxEntries = 1_000;

export function createStepMarks(store: SessionStore, of: WaitingOwner) {
  const { agent } = of;
  return {
    touch: async (step: string, at: number) => await store.touch(dueKey(agent, step), at),
    end: async (step: string) => void (await store.delete(dueKey(agent, step))),
    /** The entries of calls by which no step shows that it lives, and the calls' ids: one list. */
    async idle(now: number): Promise<ReadonlyMap<string, string>> {
      const prefix = prefixOf(agent) + (await referenceStart(of));
      const { records } = await store.list({ prefix, limit: maxEntries });
      // A look has put off those that are for the time when the call expires.
      const isLive = (at: number) => now < at && at <= now + 2 * defaultClaimMs;
      return new Map(
        records.flatMap(({ key, value, lastUsedAt }) => {
          const { id } = isRecord(value) && !isNewerFormat(value) ? value : {};
          const isIdle = typeof id === "string" && !isLive(lastUsedAt);
          return isIdle ? [[key.slice(prefixOf(agent).length), id]] : [];
        }),
      );
    },
  };
}

/** Has the end of a step do something. `isDone`: it came to its end, so that the application has what it made. */
export type AtEnd = (work: (isDone: boolean) => Promise<void>) => void;
