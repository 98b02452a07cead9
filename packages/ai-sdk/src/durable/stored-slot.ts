import {
  type ActiveSessionSnapshot,
  createSessionSlot,
  type SessionSlot,
  type SessionSnapshot,
  type StoredValue,
} from "@durable-mcp/core";
import { abortable, isLost, newerFormat, sameJson } from "@durable-mcp/core/internal";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import { hasSession } from "../connection/mcp-connection.ts";
import { beginSession } from "../slots/begin-session.ts";
import { lostSnapshot } from "../slots/kept-session.ts";
import type { NamedStart } from "../slots/named-slots.ts";
import type { SlotName, StepSlot } from "../slots/step-slot.ts";
import type { StepContext } from "./sessions-context.ts";
import {
  createRecord,
  recordKey,
  recordName,
  recordOwner,
  sessionToEnd,
  type SlotRecord,
} from "./slot-record.ts";
import { createRecordCell, type RecordCell } from "./stored-records.ts";
import { createSessionKnowledge, type SessionKnowledge, withNewUser } from "./session-users.ts";
import { whatToWrite } from "./what-to-write.ts";
import { createUseMark, type UseMark } from "./use-mark.ts";
import { createUnusedSessions, type UnusedSessions } from "./unused-sessions.ts";

/** A step's slot of one connection, and its record in the store. */
export interface StoredSlot extends StepSlot {
  readonly of: SlotName;
  /** The key of the record. */
  readonly key: string;
  readonly owner: string;
  /** Whether the step marks the record as used, and so is to look for idle named sessions. */
  readonly isLookDue: boolean;
  /** Marks a stored session as used. */
  touch(): Promise<void>;
  /** Waits, for a bounded time, until the sessions without a user are ended. */
  settle(): Promise<unknown>;
  /** Writes the changes since the last save. */
  close(): Promise<void>;
}

/** A slot during a step. */
interface SlotInStep extends Pick<StepContext, "emit" | "now"> {
  readonly of: SlotName;
  /** The agent session, if the session is shared. */
  readonly sharedBy: string | undefined;
  readonly use: NamedStart;
  readonly cell: RecordCell;
  readonly unused: UnusedSessions;
  readonly slot: SessionSlot;
  readonly mark: UseMark;
  readonly knowledge: SessionKnowledge;
  /** The snapshot that the slot started from, or that was saved last. */
  base: SessionSnapshot | undefined;
  /** Sessions that this step has used. A session that replaces one of them replaces a lost one. */
  readonly used: Set<string>;
}

/**
 * Loads the record of one connection of an agent session. A session that was not written for
 * `touchIntervalMs` is written anew, so that a sweep that is about to end it finds another revision.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function loadStoredSlot(
  context: StepContext,
  of: SlotName,
  use: NamedStart,
): Promise<StoredSlot> {
  const { store, abortSignal, emit, now } = context;
  const { principal, definition } = use;
  const name = recordName(context, of);
  const key = recordKey(name, principal);
  const loaded = await abortable(store.get(key), abortSignal);
  const cell = createRecordCell(store, name, principal, loaded, () =>
    emit({ type: "discarded", ...of, reason: "invalid" }),
  );
  const sharedBy = of.shared === undefined ? undefined : context.sessionId;
  const mark = createUseMark(context, sharedBy);
  const isMarkDue = await abortable(markAsUsed(cell, mark, sharedBy), abortSignal);
  if (cell.isNewer) throw newerFormat("The stored record", of.connection);
  const unused = createUnusedSessions(context, of, use);
  unused.endLeftOvers(cell.record);
  const unusable = sessionToDiscard(cell, loaded, definition);
  if (unusable) unused.end(unusable);

  const isDiscarded = cell.isStored && cell.record === undefined;
  const url = endpointOf(definition);
  const stored = isDiscarded ? lostSnapshot({ url }) : cell.record?.snapshot;
  const knowledge = createSessionKnowledge(sharedBy, cell.record);
  const known = knowledge.begin(stored);
  const { startedAt } = cell.record ?? {};
  const { snapshot, outdated, isChanged } = beginSession(definition, known, now(), startedAt);
  const slot = createSessionSlot(snapshot);
  const base = isChanged ? known : snapshot;
  const used = new Set(stored?.kind === "session" ? [stored.sessionId] : []);
  const step: SlotInStep = {
    ...{ of, sharedBy, use, cell, unused, slot, mark, knowledge, base, used, emit, now },
  };
  return {
    of,
    isLookDue: isMarkDue && cell.isStored,
    key,
    owner: recordOwner(principal),
    slot,
    outdated,
    async onSession(own) {
      try {
        return await saveSession(step, own);
      } catch (error) {
        // The store may have saved it all the same. The next step then finds it ended and starts
        // another; this step must not take it for another process's.
        used.add(own.sessionId);
        unused.end(own);
        throw error;
      }
    },
    async touch() {
      if (cell.record?.snapshot.kind === "session") await store.touch(key, now());
    },
    settle: unused.settle,
    close: () =>
      cell.update((record) => knowledge.note(record, changeAtEnd(step, record), slot.snapshot)),
  };
}

/** Writes the mark of use, if it is due. @returns whether it is */
async function markAsUsed(
  cell: RecordCell,
  mark: UseMark,
  sharedBy: string | undefined,
): Promise<boolean> {
  let isDue = false;
  await cell.update((record) => {
    isDue = mark.isDue(record);
    // The session in the place of a lost one is saved with its mark.
    if (!isDue || record === undefined || isLost(record.snapshot)) return "leave";
    const users = withNewUser(record.users, sharedBy, record.startedAt);
    return createRecord({ ...record, ...mark.fieldsOf(record), users });
  });
  return isDue;
}

/**
 * The stored session that this step cannot use: of another URL, in a record that does not parse, or of a definition
 * that had sessions.
 */
function sessionToDiscard(
  { record }: RecordCell,
  loaded: StoredValue | undefined,
  definition: McpClientConnection,
): ActiveSessionSnapshot | undefined {
  if (record === undefined) return sessionToEnd(loaded?.value);
  const { snapshot } = record;
  const isUsable = snapshot.url === endpointOf(definition) && hasSession(definition);
  return snapshot.kind === "session" && !isUsable ? snapshot : undefined;
}

/** @returns the stored session: the step's own, or the session of a faster process */
async function saveSession(
  step: SlotInStep,
  own: ActiveSessionSnapshot,
): Promise<ActiveSessionSnapshot> {
  const { of, use, cell, unused, knowledge, used, emit, now } = step;
  const url = endpointOf(use.definition);
  let saved = own;
  let startedAt = 0;
  await cell.update((record) => {
    unused.endLeftOvers(record);
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
  if (saved !== own) {
    unused.end(own);
    emit({ type: "adopted", ...of });
  }
  const inUse = knowledge.use(startedAt, saved, own);
  step.base = inUse;
  return inUse;
}

/** The change of the record at the end of the step. */
function changeAtEnd(
  step: SlotInStep,
  record: SlotRecord | undefined,
): SlotRecord | "delete" | "leave" {
  const { of, cell, unused, slot, base, emit, now } = step;
  const final = slot.snapshot;
  if (cell.isNewer) {
    emit({ type: "conflict", ...of, stored: "newer-session" });
    return "leave";
  }
  const ending = unused.stillToEnd(record);
  const hasTried = ending?.length !== record?.ending?.length;
  const isUnreadable = record === undefined && cell.isStored;
  if (sameJson(final, base) && !hasTried && !isUnreadable) return "leave";
  const decision = whatToWrite(base, final, record?.snapshot);
  if (decision === "conflict") {
    const isNewer = record?.snapshot.kind === "session";
    emit({ type: "conflict", ...of, stored: isNewer ? "newer-session" : "nothing" });
    return "leave";
  }
  if (decision === "nothing" && !hasTried) return "leave";
  const snapshot = decision === "nothing" ? record?.snapshot : decision.snapshot;
  if (snapshot === undefined) return "delete";
  return recordOf(step, snapshot, { startedAt: record?.startedAt ?? now(), ending });
}

function recordOf(
  { cell, use: { idleTimeoutMs = cell.record?.idleTimeoutMs }, mark, sharedBy }: SlotInStep,
  snapshot: SessionSnapshot,
  fields: Pick<SlotRecord, "startedAt" | "ending">,
): SlotRecord {
  const { record } = cell;
  const users = withNewUser(record?.users, sharedBy, fields.startedAt);
  return createRecord({
    ...{ ...record, snapshot, ...fields, ...mark.fieldsOf(record), idleTimeoutMs, users },
  });
}
