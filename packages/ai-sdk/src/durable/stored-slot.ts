import { sameJson } from "@durable-mcp/core/internal";
import {
  type ActiveSessionSnapshot,
  createSessionSlot,
  type SessionSlot,
  type SessionSnapshot,
  type SessionStore,
} from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { McpSessionEnd } from "../http/end-mcp-session.ts";
import type { StepSlot } from "../slots/step-slot.ts";
import { createRecord, type SlotRecord } from "./slot-record.ts";
import { createRecordCell, type RecordCell, untilSettled } from "./stored-records.ts";
import { whatToWrite } from "./what-to-write.ts";

/** A step's slot of one connection, and its record in the store. */
export interface StoredSlot extends StepSlot {
  /** The error that kept the last session from being saved. */
  readonly saveFailure: unknown;
  /** Marks a stored session as used. */
  touch(): Promise<void>;
  /** Waits, for a bounded time, until the sessions without a user are ended. */
  settle(): Promise<void>;
  /** Writes the changes since the last save. */
  close(): Promise<void>;
}

type EventOfSlot = ConnectionEvent extends infer EVENT
  ? EVENT extends unknown
    ? Omit<EVENT, "connection">
    : never
  : never;

/** The place of a slot's record, and how to end its sessions. */
interface StoredSlotOptions {
  store: SessionStore;
  key: string;
  owner: string;
  /** The connection's URL. Sessions of another URL are neither adopted nor ended. */
  url: string;
  touchIntervalMs: number;
  /** Stored with the session. @default the stored value */
  idleTimeoutMs?: number | undefined;
  /** Makes the slot for the stored snapshot, or finds a live one. */
  createSlot?: ((snapshot: SessionSnapshot | undefined) => SessionSlot) | undefined;
  /** Ends a session on the server, in bounded time. */
  end: (session: ActiveSessionSnapshot) => Promise<McpSessionEnd>;
  emit: (event: EventOfSlot) => void;
  now: () => number;
}

/** A slot during a step. */
interface SlotInStep extends StoredSlotOptions {
  readonly cell: RecordCell;
  readonly unused: UnusedSessions;
  readonly slot: SessionSlot;
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
export async function loadStoredSlot(options: StoredSlotOptions): Promise<StoredSlot> {
  const { store, key, owner, createSlot = createSessionSlot, emit, now } = options;
  const onInvalid = () => emit({ type: "discarded", reason: "invalid" });
  const cell = createRecordCell({ store, key, owner, stored: await store.get(key), onInvalid });
  await markUsed(cell, options);
  const unused = createUnusedSessions(options);
  unused.endLeftOvers(cell.record);

  const base = cell.record?.snapshot;
  const slot = createSlot(base);
  const used = new Set(base?.kind === "session" ? [base.sessionId] : []);
  const step: SlotInStep = { ...options, cell, unused, slot, base, used };
  let saveFailure: unknown;
  return {
    slot,
    get saveFailure() {
      return saveFailure;
    },
    async onSession(own) {
      try {
        const saved = await saveSession(step, own);
        saveFailure = undefined;
        return saved;
      } catch (error) {
        saveFailure = error;
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
    settle: () => unused.settle(),
    async close() {
      await untilSettled(() => writeChanges(step));
    },
  };
}

/** @returns the stored session: the step's own, or the session of a faster process */
async function saveSession(
  step: SlotInStep,
  own: ActiveSessionSnapshot,
): Promise<ActiveSessionSnapshot> {
  const { cell, unused, used, url, emit, now } = step;
  let saved = own;
  await untilSettled(async () => {
    // The new record keeps the settings of the old one, and its sessions that are still to be ended.
    const ending = cell.record?.ending;
    if (await cell.put(recordOf(step, own, { startedAt: now(), ending }))) return true;
    unused.endLeftOvers(cell.record);
    const other = cell.record?.snapshot;
    if (other?.kind !== "session" || other.url !== url || used.has(other.sessionId)) return false;
    saved = other;
    return true;
  });
  used.add(saved.sessionId);
  step.base = saved;
  if (saved !== own) {
    unused.end(own);
    emit({ type: "adopted" });
  }
  return saved;
}

/** @returns whether there is nothing more to write */
async function writeChanges(step: SlotInStep): Promise<boolean> {
  const { cell, unused, slot, base, emit, now } = step;
  const { record, isStored } = cell;
  const final = slot.snapshot;
  const hasTried = unused.hasTried(record);
  const isUnreadable = record === undefined && isStored;
  if (sameJson(final, base) && !hasTried && !isUnreadable) return true;
  const decision = whatToWrite({ base, final, stored: record?.snapshot });
  if (decision === "conflict") {
    const isNewer = record?.snapshot.kind === "session";
    emit({ type: "conflict", stored: isNewer ? "newer-session" : "nothing" });
    return true;
  }
  if (decision === "nothing" && !hasTried) return true;
  const snapshot = decision === "nothing" ? record?.snapshot : decision.snapshot;
  if (snapshot === undefined) return await cell.delete();
  const startedAt = record?.startedAt ?? now();
  return await cell.put(recordOf(step, snapshot, { startedAt, ending: unused.stillToEnd(record) }));
}

function recordOf(
  { cell, idleTimeoutMs = cell.record?.idleTimeoutMs, now }: SlotInStep,
  snapshot: SessionSnapshot,
  fields: Pick<SlotRecord, "startedAt" | "ending">,
): SlotRecord {
  return createRecord({ snapshot, ...fields, savedAt: now(), idleTimeoutMs });
}

/** Writes a session anew if its record is older than `touchIntervalMs`. */
async function markUsed(
  cell: RecordCell,
  { touchIntervalMs, now }: Pick<StoredSlotOptions, "touchIntervalMs" | "now">,
): Promise<void> {
  await untilSettled(async () => {
    const { record } = cell;
    if (record?.snapshot.kind !== "session") return true;
    const age = now() - record.savedAt;
    if (age >= 0 && age < touchIntervalMs) return true;
    return await cell.put({ ...record, savedAt: now() });
  });
}

type UnusedSessions = ReturnType<typeof createUnusedSessions>;

/** Ends the sessions without a user: those that this step gave up, and what earlier steps left over. */
function createUnusedSessions({ url, end, emit }: Pick<StoredSlotOptions, "url" | "end" | "emit">) {
  /** Sessions of the record that this step has tried to end. */
  const tried = new Set<string>();
  const attempts = new Set<Promise<unknown>>();

  const endInBackground = (session: ActiveSessionSnapshot) => {
    const attempt = async () => {
      const outcome = await end(session);
      if (outcome.ended) return;
      const { ended: _, ...why } = outcome;
      emit({ type: "not-ended", ...why });
    };
    const ending = attempt().finally(() => attempts.delete(ending));
    attempts.add(ending);
  };

  return {
    end: endInBackground,
    /** Tries to end sessions that an earlier process may have left. */
    endLeftOvers(record: SlotRecord | undefined) {
      for (const session of record?.ending ?? []) {
        if (tried.has(session.sessionId)) continue;
        tried.add(session.sessionId);
        if (session.url === url) endInBackground(session);
      }
    },
    hasTried: (record: SlotRecord | undefined) =>
      record?.ending?.some(({ sessionId }) => tried.has(sessionId)) ?? false,
    /** The sessions of the record that this step has not tried to end. */
    stillToEnd: (record: SlotRecord | undefined) =>
      record?.ending?.filter(({ sessionId }) => !tried.has(sessionId)),
    async settle() {
      await Promise.all(attempts);
    },
  };
}
