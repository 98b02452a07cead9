import { type ActiveSessionSnapshot, createSessionSlot, type StoredValue } from "@durable-mcp/core";
import { abortable, isLost, isRecord, newerFormat } from "@durable-mcp/core/internal";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import { hasSession } from "../connection/mcp-connection.ts";
import { beginSession } from "../slots/begin-session.ts";
import { lostSnapshot } from "../slots/kept-session.ts";
import type { NamedStart } from "../slots/named-slots.ts";
import type { SlotName, StepSlot } from "../slots/step-slot.ts";
import type { StateStore } from "./state-store.ts";
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
import { createSessionKnowledge, withNewUser } from "./session-users.ts";
import { changeAtEnd, saveSession, type SlotInStep } from "./slot-in-step.ts";
import { createUseMark } from "./use-mark.ts";
import { createUnusedSessions } from "./unused-sessions.ts";

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
  /** Begins to end the sessions that earlier steps left, and the one that this step cannot use. */
  endUnused(): void;
  /** Waits, for a bounded time, until the sessions without a user are ended. */
  settle(): Promise<unknown>;
  /** Writes the changes since the last save. */
  close(): Promise<void>;
  /** What `close` would write now. @param usedAt the time of use, for a named session in a state */
  unsaved(usedAt: number): SlotRecord | "delete" | "leave";
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
  const { store, abortSignal, carried } = context;
  if (carried !== undefined) return readStoredSlot(context, of, use, carried);
  const key = recordKey(recordName(context, of), use.principal);
  const loaded = await abortable(store.get(key), abortSignal);
  const found = findRecord(context, of, use, loaded);
  const isLookDue = await abortable(markAsUsed(found), abortSignal);
  return createStoredSlot(context, of, use, { ...found, isLookDue });
}

/**
 * Reads the entry of a state, as `loadStoredSlot` loads a record. Sends nothing.
 *
 * @throws {McpSessionError} `STATE_INVALID` for an entry that a later release wrote
 */
export function readStoredSlot(
  context: StepContext,
  of: SlotName,
  use: NamedStart,
  carried: StateStore,
): StoredSlot {
  const loaded = carried.read(recordKey(recordName(context, of), use.principal));
  const found = findRecord(context, of, use, loaded);
  return createStoredSlot(context, of, use, { ...found, isLookDue: true });
}

type FoundRecord = ReturnType<typeof findRecord>;

function findRecord(
  context: StepContext,
  of: SlotName,
  { principal }: NamedStart,
  loaded: StoredValue | undefined,
) {
  const cell = createRecordCell(context.store, recordName(context, of), principal, loaded, () =>
    context.emit({ type: "discarded", ...of, reason: "invalid" }),
  );
  const sharedBy = of.shared === undefined ? undefined : context.sessionId;
  return { loaded, cell, sharedBy, mark: createUseMark(context, sharedBy) };
}

function createStoredSlot(
  context: StepContext,
  of: SlotName,
  use: NamedStart,
  { loaded, cell, sharedBy, mark, isLookDue }: FoundRecord & { isLookDue: boolean },
): StoredSlot {
  const { store, carried, emit, now } = context;
  const { principal, definition } = use;
  const key = recordKey(recordName(context, of), principal);
  if (cell.isNewer) throw newerFormat("The stored session", of.connection);
  const unused = createUnusedSessions(context, of, use);
  const unusable = sessionToDiscard(cell, loaded, definition);
  const isDiscarded = cell.isStored && cell.record === undefined;
  // In a state anything else than an object never was a session.
  const wasSession = isDiscarded && (carried === undefined || isRecord(loaded?.value));
  const stored = wasSession ? lostSnapshot({ url: endpointOf(definition) }) : cell.record?.snapshot;
  const knowledge = createSessionKnowledge(sharedBy, cell.record);
  const known = knowledge.begin(stored);
  const { startedAt } = cell.record ?? {};
  const { snapshot, outdated, isChanged } = beginSession(definition, known, now(), startedAt);
  const slot = createSessionSlot(snapshot);
  const base = isChanged ? known : snapshot;
  const used = new Set(stored?.kind === "session" ? [stored.sessionId] : []);
  const step: SlotInStep = {
    ...{ of, sharedBy, use, cell, unused, slot, mark, knowledge, base, used, now },
  };
  const atEnd = (record: SlotRecord | undefined) => {
    const { next, conflict } = changeAtEnd(step, record);
    return { next: knowledge.note(record, next, slot.snapshot), conflict };
  };
  return {
    of,
    isLookDue: isLookDue && (cell.isStored || carried !== undefined),
    key,
    owner: recordOwner(principal),
    slot,
    outdated,
    async onSession(own) {
      try {
        const saved = await saveSession(step, own);
        if (saved.isAdopted) emit({ type: "adopted", ...of });
        return saved.session;
      } catch (error) {
        // The store may have saved it all the same. The next step then finds it ended and starts
        // another; this step must not take it for another process's.
        used.add(own.sessionId);
        unused.end(own);
        throw error;
      }
    },
    endUnused() {
      unused.endLeftOvers(cell.record);
      if (unusable) unused.end(unusable);
    },
    async touch() {
      if (cell.record?.snapshot.kind === "session") await store.touch(key, now());
    },
    settle: unused.settle,
    async close() {
      await cell.update((record) => {
        const { next, conflict } = atEnd(record);
        if (conflict) emit({ type: "conflict", ...of, stored: conflict });
        return next;
      });
    },
    unsaved(usedAt) {
      const { next } = atEnd(cell.record);
      const record = next === "leave" ? cell.record : next;
      if (of.name === undefined || record === undefined || record === "delete") return next;
      return { ...record, savedAt: usedAt };
    },
  };
}

/** Writes the mark of use, if it is due. @returns whether it is */
async function markAsUsed({ cell, mark, sharedBy }: FoundRecord): Promise<boolean> {
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
