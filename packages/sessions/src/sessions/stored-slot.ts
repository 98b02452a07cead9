import { type ActiveSessionSnapshot, createSessionSlot, type StoredValue } from "@durable-mcp/core";
import { abortable, isLost, isRecord, newerFormat, manageSlot } from "@durable-mcp/core/internal";
import { type DeclaredClient, endpointOf } from "../declare/define-connection.ts";
import { once } from "../base/once.ts";
import { hasSession } from "../declare/mcp-connection.ts";
import {
  createRecord,
  recordKey,
  recordName,
  recordOwner,
  sessionToEnd,
} from "../records/slot-record.ts";
import type { StateStore } from "../records/state-store.ts";
import { createRecordCell, type RecordCell } from "../records/stored-records.ts";
import { beginSession } from "../records/begin-session.ts";
import { lostSnapshot } from "../records/kept-session.ts";
import type { NamedStart } from "../records/named-slots.ts";
import type { SlotName, StepSlot } from "../records/step-slot.ts";
import { isMarkOld, loadSeenSessions, type SeenSessions } from "./seen-sessions.ts";
import type { SlotContext } from "./sessions-context.ts";
import { changeAtEnd, createUnusedSessions, sessionGone, type SlotInStep } from "./slot-in-step.ts";
import { createSaving } from "./slot-saving.ts";

/** A step's slot of one connection, and its record in the store. */
export type StoredSlot = ReturnType<typeof createStoredSlot>;

/**
 * Loads the record of one connection of an agent session. A session that was not written for
 * `touchIntervalMs` is written anew, so that a sweep that is about to end it finds another revision.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function loadStoredSlot(
  context: SlotContext,
  of: SlotName,
  use: NamedStart,
): Promise<StoredSlot> {
  const { store, abortSignal, carried } = context;
  if (carried !== undefined) return readStoredSlot(context, of, use, carried);
  const key = recordKey(recordName(context, of), use.principal);
  const isShared = of.shared !== undefined;
  const [loaded, seen] = await abortable(
    Promise.all([
      store.get(key),
      isShared ? loadSeenSessions(context, of, use.principal) : undefined,
    ]),
    abortSignal,
  );
  const cell = openCell(context, of, use, loaded);
  if (use.create === false && !cell.isStored) throw sessionGone(of);
  const markedAt = await abortable(markAsUsed(context, cell), abortSignal);
  const stored = createStoredSlot(context, of, use, { loaded, cell, seen, markedAt });
  await abortable(Promise.resolve(seen?.save(stored.slot.snapshot)), abortSignal);
  return stored;
}

/** The slot of a record that was read. Its mark of use is made before its first use. */
export function openStoredSlot(
  context: SlotContext,
  of: SlotName,
  use: NamedStart,
  loaded: StoredValue | undefined,
): StoredSlot {
  const cell = openCell(context, of, use, loaded);
  return createStoredSlot(context, of, use, { loaded, cell, isMarkedLater: true });
}

/**
 * Reads the entry of a state, as `loadStoredSlot` loads a record. Sends nothing.
 *
 * @throws {McpSessionError} `STATE_INVALID` for an entry that a later release wrote
 */
export function readStoredSlot(
  context: SlotContext,
  of: SlotName,
  use: NamedStart,
  carried: StateStore,
): StoredSlot {
  const loaded = carried.read(recordKey(recordName(context, of), use.principal));
  return createStoredSlot(context, of, use, { loaded, cell: openCell(context, of, use, loaded) });
}

function openCell(
  context: SlotContext,
  of: SlotName,
  { principal }: NamedStart,
  loaded: StoredValue | undefined,
): RecordCell {
  return createRecordCell(context.store, recordName(context, of), principal, loaded, (what) => {
    if (what === "invalid") context.emit({ type: "discarded", ...of, reason: "invalid" });
    else context.emit({ type: "not-kept", ...of, method: "tools/list" });
  });
}

interface FoundRecord extends Pick<SlotInStep, "cell" | "markedAt"> {
  readonly loaded: StoredValue | undefined;
  /** Of a shared session. */
  readonly seen?: SeenSessions | undefined;
  readonly isMarkedLater?: true;
}

function createStoredSlot(
  context: SlotContext,
  of: SlotName,
  use: NamedStart,
  { loaded, cell, seen, markedAt, isMarkedLater }: FoundRecord,
) {
  const { store, carried, now } = context;
  const { principal, definition } = use;
  const key = recordKey(recordName(context, of), principal);
  if (cell.isNewer) throw newerFormat("The stored session", of.connection);
  const unused = createUnusedSessions(context, of, use);
  const unusable = sessionToDiscard(cell, loaded, definition);
  const { snapshot, outdated, base, stored } = beginSlot(
    context,
    { loaded, cell, seen },
    definition,
  );
  const slot = createSessionSlot(snapshot);
  const used = new Set(stored?.kind === "session" ? [stored.sessionId] : []);
  const step: SlotInStep = { of, use, cell, unused, slot, markedAt, base, used, now };
  const saving = createSaving(context, step, seen);
  const takeUpOther = async () => {
    const other = await saving.adopt();
    if (other) manageSlot(slot).takeUp(other, use.isOneClient);
  };
  const markNow = async () => {
    step.markedAt = await markAsUsed(context, cell);
    // The store may have had another record by then.
    await takeUpOther();
  };
  const stepSlot: StepSlot = {
    slot,
    outdated,
    // A state travels with the application, so it takes less than a record.
    maxListLength: carried ? undefined : Number.MAX_SAFE_INTEGER,
    onSession: saving.onSession,
    beforeUse: isMarkedLater && once(markNow),
    // A state has nothing of other processes.
    ...(carried === undefined && { findSession: saving.findSession }),
  };
  return {
    ...stepSlot,
    of,
    /** The key of the record. */
    key,
    owner: recordOwner(principal),
    /** Begins to end the sessions that earlier steps left, and the one that this step cannot use. */
    endUnused() {
      unused.endLeftOvers(cell.record);
      if (unusable) unused.end(unusable);
    },
    /** Marks a stored session as used. */
    async touch() {
      if (cell.record?.snapshot.kind === "session") await store.touch(key, now());
    },
    /** Waits, for a bounded time, until the sessions without a user are ended. */
    settle: unused.settle,
    /** The same, where it lasts longer than a step: takes up what another process has saved since, and saves. */
    async mark() {
      await cell.reload();
      await takeUpOther();
      if (!cell.isStored || (await saving.write())) return;
      if (cell.record?.snapshot.kind === "session") await store.touch(key, now());
    },
    /** Begins to end a session that nobody uses. */
    end: unused.end,
    /** Writes the changes since the last save. */
    async close() {
      await saving.write();
    },
    /** What `close` would write now. @param usedAt the time of use, for a named session in a state */
    unsaved(usedAt: number) {
      const { next } = changeAtEnd(step, cell.record);
      const record = next === "leave" ? cell.record : next;
      if (of.name === undefined || record === undefined || record === "delete") return next;
      return { ...record, savedAt: usedAt };
    },
  };
}

/** What is stored, and what a step begins with. */
function beginSlot(
  { carried, now }: SlotContext,
  { loaded, cell, seen }: FoundRecord,
  definition: DeclaredClient,
) {
  const { record } = cell;
  const isDiscarded = cell.isStored && record === undefined;
  // In a state anything else than an object never was a session.
  const wasSession = isDiscarded && (carried === undefined || isRecord(loaded?.value));
  const stored = wasSession ? lostSnapshot({ url: endpointOf(definition) }) : record?.snapshot;
  const known = seen ? seen.begin(record, stored) : stored;
  const begun = beginSession(definition, known, now(), record?.startedAt);
  return { ...begun, stored, base: begun.isChanged ? known : begun.snapshot };
}

/** Writes the mark of use, if the last one is old. @returns the time of the mark */
async function markAsUsed(context: SlotContext, cell: RecordCell): Promise<number | undefined> {
  let markedAt: number | undefined;
  await cell.update((record) => {
    const isDue = record === undefined || isMarkOld(context, record.savedAt);
    markedAt = isDue ? context.now() : undefined;
    // The session in the place of a lost one is saved with its mark.
    if (markedAt === undefined || record === undefined || isLost(record.snapshot)) return "leave";
    return createRecord({ ...record, savedAt: markedAt });
  });
  return markedAt;
}

/**
 * The stored session that this step cannot use: of another URL, in a record that does not parse, or of a definition
 * that had sessions.
 */
function sessionToDiscard(
  { record }: RecordCell,
  loaded: StoredValue | undefined,
  definition: DeclaredClient,
): ActiveSessionSnapshot | undefined {
  if (record === undefined) return sessionToEnd(loaded?.value);
  const { snapshot } = record;
  const isUsable = snapshot.url === endpointOf(definition) && hasSession(definition);
  return snapshot.kind === "session" && !isUsable ? snapshot : undefined;
}
