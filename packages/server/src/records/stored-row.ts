import type {
  SessionStore,
  StoreBatchAnswer,
  StoreBatchWrite,
  StoredValue,
} from "@durable-mcp/core";
import { writeBatch } from "@durable-mcp/core/internal";
import { createQueue } from "../base/queue.ts";
import { randomName } from "../base/session-id.ts";
import type { StateChange, StateRow, StoredState } from "../state/stored-state.ts";
import {
  commitRows,
  type CommitOutcome,
  mayRepeat,
  type LesserRows,
  noRows,
  repeatRows,
} from "./commit-rows.ts";

/** What every record has that is changed by compare-and-set. */
interface ChangingRecord {
  /** Milliseconds since 1970-01-01 UTC. */
  readonly usedAt: number;
  /** Counts the writes: of two copies, the one with more is the newer. */
  readonly changes: number;
  /** Names the last write: who got no answer to a write finds out whether it was done. */
  readonly writer?: string | undefined;
  readonly state: StoredState;
}

/** A record as one read found it; the revision of one that is not stored is `null`. */
export interface RowVersion<Value> {
  readonly record: Value;
  readonly revision: string | null;
}

/** What rows of one kind are. */
export interface RowKind<Value> {
  readonly store: SessionStore;
  readonly key: string;
  readonly now: () => number;
  /** `undefined` for a record that has expired or cannot be read; `known` spares the reading. */
  parse(stored: StoredValue, known?: RowVersion<Value>): Value | undefined;
  putOf(record: Value, ifRevision: string | null): Extract<StoreBatchWrite, { type: "put" }>;
  /** Whether the use has to be noted. */
  isStale(record: Value): boolean;
  /** What counts as stored where nothing is. Without it a row that is not there is gone. */
  readonly absent?: () => Value;
  /** The share of a bounded store that a first write of its own leaves free. */
  readonly leaveFree?: number;
}

/** What is to be stored. */
export interface Effects<Value> {
  /** Of the state. */
  readonly change?: StateChange | undefined;
  /** Of the other fields. */
  readonly edit?: ((record: Value) => Value) | undefined;
  /** Other values. */
  readonly rows?: readonly StoreBatchWrite[] | undefined;
  readonly lesserRows?: LesserRows | undefined;
}

/** One record in the store. The last one read is kept, as the base of the next change. */
export interface StoredRow<Value> extends StateRow {
  /** As last read or written. Nobody changes it. */
  readonly record: Value;
  readonly revision: string | null;
  /** Takes over a version that was read, if it is newer. */
  see(found: RowVersion<Value>): void;
  /** Reads it again. `undefined` when it is gone. */
  load(): Promise<Value | undefined>;
  /** Stores changes of the newest record, and `rows`, in one transaction. */
  write(effects: Effects<Value>): Promise<CommitOutcome>;
  /** Notes the use, when the last note is old. */
  renew(): Promise<void>;
}

type Change<Value> = (record: Value) => Value | undefined | Promise<Value | undefined>;

export function createStoredRow<Value extends ChangingRecord>(
  kind: RowKind<Value>,
  first: RowVersion<Value>,
): StoredRow<Value> {
  const { store, key, now } = kind;
  // Calls of one process that change the record at once do not make each other try again.
  const inTurn = createQueue();
  let row = first;

  function keep(newest: RowVersion<Value>): void {
    row = newest;
    const { record, revision } = row;
    Object.assign(self, { record, revision, state: record.state });
  }

  /** `refused` is the version that is known not to be stored, or not any more. */
  function take(stored: StoredValue | undefined, refused?: RowVersion<Value>): Value | undefined {
    const found = stored && kind.parse(stored, row);
    const record = found ?? kind.absent?.();
    if (!record) return undefined;
    // A record that refused our newest one counts even if it is older: stores may lose last writes.
    const isRefused = refused !== undefined && refused.revision === row.revision;
    if (record.changes >= row.record.changes || isRefused) {
      keep({ record, revision: stored?.revision ?? null });
    }
    return record;
  }

  /** Repeats `change` until its base is the stored record; `undefined` from `change` stops it. */
  async function replace(
    change: Change<Value>,
    effects: Effects<Value> = {},
  ): Promise<CommitOutcome | "stopped"> {
    for (;;) {
      const base = row;
      const changed = await change(base.record);
      if (!changed) return "stopped";
      const usedAt = Math.max(now(), changed.usedAt);
      const next = { ...changed, usedAt, changes: base.record.changes + 1, writer: randomName() };
      const result = await persist(kind, base, next, effects);
      if (result.ok) {
        if (next.changes > row.record.changes) {
          keep({ record: next, revision: result.revisions[0]! });
        }
        return "stored";
      }
      if (result.index > 0) return "lost";
      if (!take(result.current, base)) return "gone";
    }
  }

  async function write(effects: Effects<Value>): Promise<CommitOutcome> {
    const { change, edit, rows, lesserRows } = effects;
    if (!change && !edit) return await commitRows(store, rows, lesserRows);
    const outcome = await inTurn(() => replace((record) => changedBy(effects, record), effects));
    return outcome === "stopped" ? await commitRows(store, rows, lesserRows) : outcome;
  }

  const self: StoredRow<Value> = {
    ...{ record: row.record, revision: row.revision, state: row.record.state },
    see: (found) => {
      if (found.record.changes > row.record.changes) keep(found);
    },
    load: async () => {
      const base = row;
      const stored = await store.get(key);
      // What is not there may have been removed, unless it was stored meanwhile.
      return take(stored, kind.absent && base);
    },
    write,
    commit: (change, rows, lesserRows) => write({ change, rows, lesserRows }),
    renew: async () => {
      if (!kind.isStale(row.record)) return;
      await inTurn(() => replace((current) => (kind.isStale(current) ? current : undefined)));
    },
  };
  return self;
}

/** `undefined` when nothing is changed. */
async function changedBy<Value extends ChangingRecord>(
  { change, edit }: Effects<Value>,
  record: Value,
): Promise<Value | undefined> {
  const edited = edit?.(record) ?? record;
  const state = (await change?.(edited.state)) ?? edited.state;
  return edited === record && state === record.state ? undefined : { ...edited, state };
}

/**
 * A write that failed may have been done: looks, and does it again if it was not, once. After that it
 * goes with less, and then alone.
 */
async function persist<Value extends ChangingRecord>(
  kind: RowKind<Value>,
  base: RowVersion<Value>,
  next: Value,
  { rows = [], lesserRows }: Effects<Value>,
): Promise<StoreBatchAnswer> {
  const { store, key } = kind;
  const put = kind.putOf(next, base.revision);
  const ours = (stored: StoredValue | undefined) =>
    stored && kind.parse(stored)?.writer === next.writer ? stored : undefined;
  const same = () => rows;
  let failure: unknown;
  for (const tried of lesserRows ? [same, same, lesserRows, noRows] : [same, same]) {
    if (failure) {
      const stored = await store.get(key);
      const done = ours(stored);
      if (done) return await withRows(store, done, rows, lesserRows);
      if ((stored?.revision ?? null) !== base.revision) throw failure;
    }
    try {
      const answer = await send(kind, [put, ...tried()]);
      // An earlier try may have been done after we looked.
      const doneLate = failure && !answer.ok ? ours(answer.current) : undefined;
      return doneLate ? await withRows(store, doneLate, rows, lesserRows) : answer;
    } catch (error) {
      if (!mayRepeat(error)) throw error;
      failure = error;
    }
  }
  throw failure;
}

/** The answer of a write that was done. A store without transactions may have done its first part alone. */
async function withRows(
  store: SessionStore,
  { revision }: StoredValue,
  rows: readonly StoreBatchWrite[],
  lesserRows: LesserRows | undefined,
): Promise<StoreBatchAnswer> {
  const outcome = store.batch ? "stored" : await repeatRows(store, rows, lesserRows);
  if (outcome === "stored") return { ok: true, revisions: [revision] };
  return { ok: false, index: 1, current: undefined };
}

async function send<Value>(
  { store, leaveFree }: RowKind<Value>,
  writes: readonly StoreBatchWrite[],
): Promise<StoreBatchAnswer> {
  const [first] = writes;
  if (leaveFree === undefined || writes.length > 1 || first?.type !== "put") {
    return await writeBatch(store, writes);
  }
  const { key, value, ifRevision, owner, expiresAt } = first;
  const answer = await store.put(key, value, ifRevision, {
    ...{ owner, expiresAt },
    ...(ifRevision === null && { leaveFree }),
  });
  return answer.ok
    ? { ok: true, revisions: [answer.revision] }
    : { ok: false, index: 0, current: answer.current };
}
