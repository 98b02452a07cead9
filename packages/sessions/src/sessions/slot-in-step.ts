import {
  type ActiveSessionSnapshot,
  McpSessionError,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";
import { isLost, sameJson } from "@durable-mcp/core/internal";
import { endpointOf } from "../declare/define-connection.ts";
import { clientConnections } from "../declare/mcp-connection.ts";
import type { NamedStart, NamedUse } from "../records/named-slots.ts";
import type { SlotName } from "../records/step-slot.ts";
import type { SlotContext } from "./sessions-context.ts";
import { createRecord, type SlotRecord } from "../records/slot-record.ts";
import type { RecordCell } from "../records/stored-records.ts";

/** A slot during a step. */
export interface SlotInStep extends Pick<SlotContext, "now"> {
  readonly of: SlotName;
  readonly use: NamedStart;
  readonly cell: RecordCell;
  readonly unused: ReturnType<typeof createUnusedSessions>;
  readonly slot: SessionSlot;
  /** The time of this step's mark of use, if it makes one. */
  markedAt?: number | undefined;
  /** The snapshot that the slot started from, or that was saved last. */
  base: SessionSnapshot | undefined;
  /** Sessions that this step has used. A session that replaces one of them replaces a lost one. */
  readonly used: Set<string>;
}

/** @returns the stored session: the step's own, or the session of a faster process, and its start */
export async function saveSession(step: SlotInStep, own: ActiveSessionSnapshot) {
  const { use, cell, unused, used, now } = step;
  const url = endpointOf(use.definition);
  let saved = own;
  let startedAt: number | undefined;
  await cell.update((record) => {
    unused.endLeftOvers(record);
    if (!mayCreate(step) && !cell.isStored) throw sessionGone(step.of);
    const other = record?.snapshot;
    if (other?.kind === "session" && other.url === url && !used.has(other.sessionId)) {
      // A store that repeats a write may take its own first attempt for another process's.
      if (other.sessionId !== own.sessionId) saved = other;
      ({ startedAt } = record!);
      return "leave";
    }
    // The new record keeps the settings of the old one, and its sessions that are still to be ended.
    // Later than that of the one before, whatever the clocks say: the start tells them apart.
    startedAt = Math.max(now(), (record?.startedAt ?? 0) + 1);
    return recordOf(step, own, { startedAt, ending: record?.ending });
  });
  used.add(saved.sessionId);
  if (saved !== own) unused.end(own);
  return { saved, startedAt };
}

/** The session that another process has saved in the place of this step's, as of the last look into the store. */
export function otherSession({ cell: { record }, use, used }: SlotInStep) {
  const session = record?.snapshot;
  if (session?.kind !== "session" || session.url !== endpointOf(use.definition)) return undefined;
  if (used.has(session.sessionId)) return undefined;
  used.add(session.sessionId);
  return { session, startedAt: record?.startedAt };
}

/** Whether the step may save a session where the store has none: it was ended, or never begun. */
export function mayCreate({ use: { create = true }, used }: SlotInStep): boolean {
  return create === "once" ? used.size === 0 : create;
}

/** The error of a use that makes no session, where the store has none. */
export function sessionGone({ connection }: SlotName): McpSessionError {
  return new McpSessionError(
    "SESSION_LOST",
    `Connection ${connection}: the store has no such session. It was ended, or never begun. The request was not carried out. To begin anew, open it without create: false.`,
    { data: { connection } },
  );
}

/** The change of the record at the end of the step, and what stands in its way. */
export function changeAtEnd(
  step: SlotInStep,
  record: SlotRecord | undefined,
): { next: SlotRecord | "delete" | "leave"; conflict?: "newer-session" | "nothing" } {
  const { cell, unused, slot, base, now } = step;
  const final = slot.snapshot;
  if (cell.isNewer) return { next: "leave", conflict: "newer-session" };
  // The next process begins another as the one client did: only a session has its words.
  if (step.use.isOneClient && isLost(final)) return { next: "leave" };
  const ending = unused.stillToEnd(record);
  const hasTried = ending?.length !== record?.ending?.length;
  const isUnreadable = record === undefined && cell.isStored;
  if (sameJson(final, base) && !hasTried && !isUnreadable) return { next: "leave" };
  const decision = whatToWrite(base, final, record?.snapshot);
  if (decision === "conflict") {
    const isNewer = record?.snapshot.kind === "session";
    return { next: "leave", conflict: isNewer ? "newer-session" : "nothing" };
  }
  if (decision === "nothing" && !hasTried) return { next: "leave" };
  const snapshot = decision === "nothing" ? record?.snapshot : decision.snapshot;
  if (snapshot === undefined) return { next: "delete" };
  const startedAt = record === undefined ? now() : record.startedAt;
  return { next: recordOf(step, snapshot, { startedAt, ending }) };
}

function recordOf(
  { cell, use: { idleTimeoutMs = cell.record?.idleTimeoutMs }, markedAt, now }: SlotInStep,
  snapshot: SessionSnapshot,
  fields: Pick<SlotRecord, "startedAt" | "ending">,
): SlotRecord {
  const { record } = cell;
  const savedAt = markedAt ?? record?.savedAt ?? now();
  return createRecord({ ...record, snapshot, ...fields, savedAt, idleTimeoutMs });
}

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
function whatToWrite(
  base: SessionSnapshot | undefined,
  final: SessionSnapshot | undefined,
  stored: SessionSnapshot | undefined,
): { readonly snapshot: SessionSnapshot | undefined } | "nothing" | "conflict" {
  if (sameJson(stored, final) && final !== undefined) return "nothing";
  if (sameJson(stored, base)) return { snapshot: final };
  if (
    base?.kind === "session" &&
    stored?.kind === "session" &&
    base.sessionId === stored.sessionId
  ) {
    if (final?.kind !== "session" || final.sessionId !== base.sessionId) return { snapshot: final };
    const snapshot = mergeChanges(base, final, stored);
    return sameJson(snapshot, stored) ? "nothing" : { snapshot };
  }
  // A newer session outdates the news that an older one was lost, or that the server has none.
  const isOutdated = base?.kind === "session" || stored?.kind === "session";
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

/** Ends the sessions without a user: those that this step gave up, and those that earlier steps left. */
export function createUnusedSessions(
  { provider, emit, now }: SlotContext,
  of: SlotName,
  { principal, definition }: NamedUse,
) {
  /** The connection of a URL. A session's id goes nowhere else than to a URL that is declared now. */
  const declaredAt = (url: string) => {
    if (endpointOf(definition) === url) return { connection: of.connection, definition };
    const declared = Object.entries(clientConnections(provider.declaredFor(principal)));
    const found = declared.find(([, each]) => endpointOf(each) === url);
    return found && { connection: found[0], definition: found[1] };
  };
  /** Sessions of the record that this step has tried to end. */
  const tried = new Set<string>();
  const attempts: Promise<void>[] = [];

  const end = async (snapshot: ActiveSessionSnapshot) => {
    const declared = declaredAt(snapshot.url);
    if (declared === undefined) return;
    const { endMcpSession } = await import("../connection/end-mcp-session.ts");
    const outcome = await endMcpSession({ ...declared, principal, snapshot, now });
    if (outcome.ended) return;
    const { ended: _, ...why } = outcome;
    emit({ type: "not-ended", ...of, ...why });
  };
  const endInBackground = (session: ActiveSessionSnapshot) => void attempts.push(end(session));

  return {
    end: endInBackground,
    /** Tries to end sessions that an earlier process may have left. */
    endLeftOvers(record: SlotRecord | undefined) {
      for (const session of record?.ending ?? []) {
        if (tried.has(session.sessionId)) continue;
        tried.add(session.sessionId);
        endInBackground(session);
      }
    },
    /** The sessions of the record that this step has not tried to end. */
    stillToEnd: (record: SlotRecord | undefined) =>
      record?.ending?.filter(({ sessionId }) => !tried.has(sessionId)),
    settle: () => Promise.all(attempts),
  };
}
