import { McpSessionError } from "../base/mcp-session-error.ts";
import type { StoredTextRecord, StoreWrite } from "./driver.ts";

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
export function createMemoryRecords(maxRecords: number) {
  // A Map keeps the place of a key that is set again.
  const records = new Map<string, MemoryRecord>();
  let created = 0;
  let putsUntilPurge = 1_000;
  /** Nothing expires before this time. */
  let nextEnd = Infinity;

  const live = (key: string, time: number) => {
    const record = records.get(key);
    return record && !isExpired(record, time) ? record : undefined;
  };
  const purge = (time: number) => {
    putsUntilPurge = Math.max(1_000, records.size);
    if (time < nextEnd) return;
    nextEnd = Infinity;
    for (const [key, record] of records) {
      if (isExpired(record, time)) records.delete(key);
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
        records.delete(key);
        created += 1;
      }
      const lastUsedAt = Math.max(time, before?.lastUsedAt ?? 0);
      const number = before?.number ?? created;
      records.set(key, { key, text, revision, owner, expiresAt, lastUsedAt, number });
    },
    touch(key: string, at: number, time: number): void {
      const record = live(key, time);
      if (record && record.lastUsedAt < at) records.set(key, { ...record, lastUsedAt: at });
    },
    delete: (key: string) => void records.delete(key),
    /** In the order in which they were created. */
    *all(time: number): Iterable<MemoryRecord> {
      for (const record of records.values()) if (!isExpired(record, time)) yield record;
    },
  };
}

function isExpired({ expiresAt }: StoredTextRecord, time: number): boolean {
  return expiresAt !== undefined && expiresAt <= time;
}

function fullStore(maxRecords: number, kept: number): McpSessionError {
  const share = kept === 0 ? "" : `, of which ${kept} must stay free`;
  const message = `The memory store is full (${maxRecords} records${share}). Raise maxRecords, or use another store. Nothing was written.`;
  return new McpSessionError("STORE_FAILED", message);
}
