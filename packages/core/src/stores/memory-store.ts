import { checkFunction, checkOptions, wholeFrom } from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { createDrivenStore } from "./driven-store.ts";
import type { StoredTextRecord, StoreWrite } from "./driver.ts";
import { dueStart } from "./due-order.ts";
import type { SessionStore } from "./session-store.ts";
import { createStoreListeners } from "./store-listeners.ts";

/** Options of `createMemoryStore`. */
export interface MemoryStoreOptions {
  /** How many records at most; a further one fails with `STORE_FAILED`. @default 100000 */
  readonly maxRecords?: number | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/**
 * A store in the memory of this process, for tests and for programs of one process. `list` reads all
 * records, in the order of their creation; for keys with `due/`, these alone.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): SessionStore {
  checkOptions(options, { maxRecords: wholeFrom(1), now: checkFunction });
  const { maxRecords = 100_000, now } = options;
  const records = createMemoryRecords(maxRecords);
  const listeners = createStoreListeners({ isHearing: () => true });

  return createDrivenStore(
    {
      name: "memory",
      timeoutMs: Infinity, // it never waits
      get: records.live,
      put(write, time) {
        if (!records.holds(write, time)) return false;
        if (write.ifRevision === null) records.makeRoom(1, write.leaveFree ?? 0, time);
        records.set(write, time);
        return true;
      },
      touch: records.touch,
      delete(key, ifRevision, time) {
        if (!records.holds({ key, ifRevision }, time)) return false;
        records.delete(key);
        return true;
      },
      list({ prefix, owner, idleSince = Infinity, after: [last] = [0, ""], limit }, time) {
        const page: StoredTextRecord[] = [];
        let lastNumber = last;
        for (const record of records.all(time, prefix)) {
          const isWanted =
            record.number > last &&
            record.key.startsWith(prefix) &&
            (owner === undefined || record.owner === owner) &&
            record.lastUsedAt <= idleSince;
          if (!isWanted) continue;
          if (page.length === limit) return { records: page, end: [lastNumber, ""] };
          page.push(record);
          lastNumber = record.number;
        }
        return { records: page };
      },
      batch(steps, time) {
        const conflict = steps.findIndex((step) => !records.holds(step, time));
        if (conflict !== -1) return conflict;
        const added = steps.filter(({ type, ifRevision }) => type === "put" && ifRevision === null);
        const removed = steps.filter(({ type, key }) => type === "delete" && records.has(key));
        if (added.length > 0) records.makeRoom(added.length - removed.length, 0, time);
        for (const step of steps) {
          if (step.type === "put") records.set(step, time);
          else records.delete(step.key);
        }
        return undefined;
      },
      publish: listeners.tell,
      subscribe: listeners.add,
    },
    now,
  );
}

interface MemoryRecord extends StoredTextRecord {
  /** How many records had been created when this one was. */
  readonly number: number;
}

interface Condition {
  readonly key: string;
  /** `null`: nothing is stored. `undefined`: holds whatever is stored. */
  readonly ifRevision: string | null | undefined;
}

/** The records of a memory store, `maxRecords` at most. */
function createMemoryRecords(maxRecords: number) {
  // A Map keeps the place of a key that is set again.
  const records = new Map<string, MemoryRecord>();
  const dueKeys = new Set<string>();
  let created = 0;
  let putsUntilPurge = 1_000;
  /** Nothing expires before this time. */
  let nextEnd = Infinity;

  const live = (key: string, time: number) => {
    const record = records.get(key);
    return record && !isExpired(record, time) ? record : undefined;
  };
  const remove = (key: string) => {
    records.delete(key);
    dueKeys.delete(key);
  };
  const purge = (time: number) => {
    putsUntilPurge = Math.max(1_000, records.size);
    if (time < nextEnd) return;
    nextEnd = Infinity;
    for (const [key, record] of records) {
      if (isExpired(record, time)) remove(key);
      else nextEnd = Math.min(nextEnd, record.expiresAt ?? Infinity);
    }
  };
  return {
    live,
    has: (key: string) => records.has(key),
    holds: ({ key, ifRevision }: Condition, time: number) =>
      ifRevision === undefined || (live(key, time)?.revision ?? null) === ifRevision,
    /**
     * Makes room for so many more records, beside the share that must stay free.
     *
     * @throws {McpSessionError} `STORE_FAILED`
     */
    makeRoom(more: number, leaveFree: number, time: number): void {
      const kept = Math.ceil(maxRecords * leaveFree);
      const isFull = () => records.size + more + kept > maxRecords;
      if (putsUntilPurge <= 0 || isFull()) purge(time);
      if (isFull()) throw fullStore(maxRecords, kept);
    },
    set({ key, text, revision, owner, expiresAt }: StoreWrite, time: number): void {
      const before = live(key, time);
      putsUntilPurge -= 1;
      if (expiresAt !== undefined && expiresAt < nextEnd) nextEnd = expiresAt;
      if (before === undefined) {
        remove(key);
        created += 1;
      }
      if (key.startsWith(dueStart)) dueKeys.add(key);
      const lastUsedAt = Math.max(time, before?.lastUsedAt ?? 0);
      const number = before?.number ?? created;
      records.set(key, { key, text, revision, owner, expiresAt, lastUsedAt, number });
    },
    touch: (key: string, at: number, time: number): void => {
      const record = live(key, time);
      if (record && record.lastUsedAt < at) records.set(key, { ...record, lastUsedAt: at });
    },
    delete: remove,
    /** In the order in which they were created: those that may have the prefix. */
    *all(time: number, prefix: string): Iterable<MemoryRecord> {
      for (const key of prefix.startsWith(dueStart) ? dueKeys : records.keys()) {
        const record = live(key, time);
        if (record) yield record;
      }
    },
  };
}

function isExpired({ expiresAt }: StoredTextRecord, time: number): boolean {
  return expiresAt !== undefined && expiresAt <= time;
}

function fullStore(maxRecords: number, kept: number): McpSessionError {
  const share = kept === 0 ? "" : `; ${kept} must stay free`;
  const message = `The memory store is full (${maxRecords} records${share}). Raise maxRecords, or use another store. Nothing was written.`;
  return new McpSessionError("STORE_FAILED", message);
}
