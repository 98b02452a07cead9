import type { JsonValue, SessionStore, StoreBatchWrite, StoredValue } from "@durable-mcp/core";
import { writeBatch } from "@durable-mcp/core/internal";
import { createQueue } from "../base/queue.ts";
import { randomName } from "../base/session-id.ts";
import type { HandlerSettings } from "../base/settings.ts";
import type { StateChange, StateRow } from "../state/stored-state.ts";
import { expiryOf, parseSessionRecord, renewAfter, type SessionRecord } from "./session-record.ts";
import { commitRows, type CommitOutcome, isFailure } from "./commit-rows.ts";
import { storeKey, storeKeyPrefix } from "./store-key.ts";

/** A session as one read found it. */
export interface FoundRow {
  readonly hash: string;
  readonly record: SessionRecord;
  readonly revision: string;
}

/** One session in the store. The last record read is kept, as the base of the next change. */
export interface StoredSession extends StateRow {
  readonly hash: string;
  /** As last read or written. Nobody changes it. */
  readonly record: SessionRecord;
  readonly revision: string;
  /** Takes over a row that was read, if it is newer. */
  see(found: FoundRow): void;
  /** Reads it again. `undefined` when the session has ended or expired. */
  load(): Promise<SessionRecord | undefined>;
  /** Stores changes of the newest record, and `rows`, in one transaction. */
  write(effects: Effects): Promise<CommitOutcome>;
  /** Notes the use, when the last note is old. */
  renew(): Promise<void>;
}

/** What is to be stored. */
export interface Effects {
  /** Of the state. */
  readonly change?: StateChange | undefined;
  /** Of the other fields. */
  readonly edit?: ((record: SessionRecord) => SessionRecord) | undefined;
  /** Other values. */
  readonly rows?: readonly StoreBatchWrite[] | undefined;
}

type RowChange = (
  record: SessionRecord,
) => SessionRecord | undefined | Promise<SessionRecord | undefined>;

/** The sessions of one handler in its store. */
export function createStoredSessions(store: SessionStore, settings: HandlerSettings) {
  const keyOf = (hash: string) => storeKey(settings.name, "session", hash);
  const isLive = (record: SessionRecord) => expiryOf(record, settings.timeouts) > settings.now();

  /** `known`, with the revision in hand, spares the reading of a value that has not changed. */
  function parse(stored: StoredValue | undefined, known?: FoundRow): SessionRecord | undefined {
    if (!stored) return undefined;
    const record =
      known?.revision === stored.revision ? known.record : parseSessionRecord(stored.value);
    // The stores' clocks and their granularity differ from ours: an expired record counts as none.
    return record && isLive(record) ? record : undefined;
  }

  function putOf(hash: string, record: SessionRecord, ifRevision: string | null): StoreBatchWrite {
    return {
      ...{ type: "put", key: keyOf(hash), value: record as unknown as JsonValue, ifRevision },
      ...{ owner: record.owner, expiresAt: expiryOf(record, settings.timeouts) },
    };
  }

  async function find(hash: string, known?: FoundRow): Promise<FoundRow | undefined> {
    const stored = await store.get(keyOf(hash));
    const record = parse(stored, known);
    return stored && record && { hash, record, revision: stored.revision };
  }

  const context = { store, settings, keyOf, parse, putOf };
  return {
    /** Stores a new session; ids are random, so one that is already there is a failure. */
    create: async (hash: string, record: SessionRecord, leaveFree: number): Promise<FoundRow> => {
      const expiresAt = expiryOf(record, settings.timeouts);
      const options = { owner: record.owner, expiresAt, leaveFree };
      const value = record as unknown as JsonValue;
      const result = await store.put(keyOf(hash), value, null, options);
      if (!result.ok) throw new Error("A new session id is in use already.");
      return { hash, record, revision: result.revision };
    },
    find,
    bind: (found: FoundRow): StoredSession => bindSession(context, found),
    isStored: async (hash: string) => (await find(hash)) !== undefined,
    remove: async (hash: string): Promise<void> => {
      await store.delete(keyOf(hash));
    },
    /** How many sessions an owner has, counted up to `limit`. */
    count: async (owner: string, limit: number): Promise<number> => {
      const prefix = storeKeyPrefix(settings.name, "session");
      let count = 0;
      let cursor: string | undefined;
      do {
        const rest = Math.min(1_000, limit - count);
        const page = await store.list({ prefix, owner, cursor, limit: rest });
        count += page.records.length;
        ({ cursor } = page);
      } while (cursor !== undefined && count < limit);
      return count;
    },
  };
}

export type StoredSessions = ReturnType<typeof createStoredSessions>;

interface RowContext {
  readonly store: SessionStore;
  readonly settings: HandlerSettings;
  readonly keyOf: (hash: string) => string;
  readonly parse: (stored: StoredValue | undefined, known?: FoundRow) => SessionRecord | undefined;
  readonly putOf: (
    hash: string,
    record: SessionRecord,
    ifRevision: string | null,
  ) => StoreBatchWrite;
}

// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
function bindSession(context: RowContext, first: FoundRow): StoredSession {
  const { store, settings, keyOf, parse, putOf } = context;
  const { hash } = first;
  const { now, timeouts } = settings;
  // Calls of one process that change the record at once do not make each other try again.
  const inTurn = createQueue();
  let row = first;

  function isStale({ usedAt }: SessionRecord): boolean {
    return now() - usedAt > renewAfter(timeouts);
  }

  function take(stored: StoredValue | undefined, refused?: string): SessionRecord | undefined {
    const record = parse(stored, row);
    if (!stored || !record) return undefined;
    // A record that refused our newest one counts even if it is older: stores may lose last writes.
    if (record.changes >= row.record.changes || refused === row.revision) {
      row = { hash, record, revision: stored.revision };
    }
    return record;
  }

  /** A write that failed may have been done: looks, and does it again if it was not, once. */
  async function writeTwice(writes: readonly StoreBatchWrite[], next: SessionRecord) {
    try {
      return await writeBatch(store, writes);
    } catch (error) {
      if (!isFailure(error)) throw error;
      const stored = await store.get(keyOf(hash));
      const record = parse(stored);
      if (stored && record?.writer === next.writer) {
        return { ok: true, revisions: [stored.revision] } as const;
      }
      if (stored?.revision !== row.revision) throw error;
      return await writeBatch(store, writes);
    }
  }

  /** Repeats `change` until its base is the stored record; `undefined` from `change` stops it. */
  async function replace(
    change: RowChange,
    rows: readonly StoreBatchWrite[] = [],
  ): Promise<CommitOutcome | "stopped"> {
    for (;;) {
      const base = row;
      const changed = await change(base.record);
      if (!changed) return "stopped";
      const usedAt = Math.max(now(), changed.usedAt);
      const changes = base.record.changes + 1;
      const next = { ...changed, usedAt, changes, writer: randomName() };
      const writes = [putOf(hash, next, base.revision), ...rows];
      const result = await writeTwice(writes, next);
      if (result.ok) {
        if (next.changes > row.record.changes) {
          row = { hash, record: next, revision: result.revisions[0]! };
        }
        return "stored";
      }
      if (result.index > 0) return "lost";
      if (!take(result.current, base.revision)) return "gone";
    }
  }

  async function write({ change, edit, rows }: Effects): Promise<CommitOutcome> {
    if (!change && !edit) return await commitRows(store, rows);
    const outcome = await inTurn(() =>
      replace(async (record) => {
        const edited = edit?.(record) ?? record;
        const state = (await change?.(edited.state)) ?? edited.state;
        if (edited === record && state === record.state) return undefined;
        return { ...edited, state };
      }, rows),
    );
    return outcome === "stopped" ? await commitRows(store, rows) : outcome;
  }

  return {
    hash,
    get record() {
      return row.record;
    },
    get revision() {
      return row.revision;
    },
    get state() {
      return row.record.state;
    },
    see: (found) => {
      if (found.record.changes > row.record.changes) row = found;
    },
    load: async () => take(await store.get(keyOf(hash))),
    write,
    commit: (change, rows) => write({ change, rows }),
    renew: async () => {
      if (!isStale(row.record)) return;
      await inTurn(() => replace((current) => (isStale(current) ? current : undefined)));
    },
  };
}
