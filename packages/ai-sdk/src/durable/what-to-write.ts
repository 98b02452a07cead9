import type { ActiveSessionSnapshot, SessionSnapshot } from "@durable-mcp/core";
import { sameJson } from "@durable-mcp/core/internal";
import { isSession } from "./session-users.ts";

/**
 * Decides what a step writes at its end. Another process may have written meanwhile. Its record stays,
 * unless both changes fit together.
 *
 * @param base the snapshot that the step's slot started from, or saved
 * @param final the slot's snapshot now
 * @param stored the stored snapshot
 * @returns `snapshot: undefined` to delete; `"conflict"` when another session has taken the place of
 *   the step's
 */
export function whatToWrite(
  base: SessionSnapshot | undefined,
  final: SessionSnapshot | undefined,
  stored: SessionSnapshot | undefined,
): { readonly snapshot: SessionSnapshot | undefined } | "nothing" | "conflict" {
  if (sameJson(stored, final) && final !== undefined) return "nothing";
  if (sameJson(stored, base)) return { snapshot: final };
  if (isSession(base) && isSession(stored) && base.sessionId === stored.sessionId) {
    if (!isSession(final) || final.sessionId !== base.sessionId) return { snapshot: final };
    const snapshot = mergeChanges(base, final, stored);
    return sameJson(snapshot, stored) ? "nothing" : { snapshot };
  }
  // A newer session outdates the news that an older one was lost, or that the server has none.
  const isOutdated = isSession(base) || isSession(stored);
  return isOutdated ? "conflict" : { snapshot: final };
}

/** Merges two versions of one session: changes of this step win over the stored version. */
function mergeChanges(
  base: ActiveSessionSnapshot,
  own: ActiveSessionSnapshot,
  stored: ActiveSessionSnapshot,
): ActiveSessionSnapshot {
  const { toolList: storedList, replacesLost: storedNotice, ...rest } = stored;
  const toolList = sameJson(own.toolList, base.toolList) ? storedList : own.toolList;
  // The notice is done if either version has none.
  const replacesLost = own.replacesLost && storedNotice;
  return { ...rest, ...(toolList && { toolList }), ...(replacesLost && { replacesLost }) };
}
