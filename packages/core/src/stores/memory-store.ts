import { checkWhole } from "../base/check-option.ts";
import { checkKnown } from "../base/known-options.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { SessionStore } from "./session-store.ts";
import { createDrivenStore, type StoredTextRecord } from "./store-driver.ts";

export interface MemoryStoreOptions {
  /** How many records at most; a further one fails with `STORE_FAILED`. @default 100000 */
  readonly maxRecords?: number | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/**
 * A store in the memory of this process, for tests and for programs of one process. `list` reads all
 * records, in the order of their creation.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): SessionStore {
  checkKnown(options, ["maxRecords", "now"]);
  const { maxRecords = 100_000, now } = options;
  checkWhole(maxRecords, "maxRecords", 1);
  // A Map keeps the place of a key that is set again.
  const records = new Map<string, StoredTextRecord & { readonly number: number }>();
  let created = 0;
  let putsUntilPurge = 1_000;

  const live = (key: string, time: number) => {
    const record = records.get(key);
    return record && !isExpired(record, time) ? record : undefined;
  };
  const purge = (time: number) => {
    for (const [key, record] of records) if (isExpired(record, time)) records.delete(key);
    putsUntilPurge = Math.max(1_000, records.size);
  };

  return createDrivenStore(
    {
      name: "memory",
      timeoutMs: Infinity, // it never waits
      get: live,
      put({ key, ifRevision, ...write }, time) {
        const before = live(key, time);
        if ((before?.revision ?? null) !== ifRevision) return false;
        putsUntilPurge -= 1;
        if (before === undefined) {
          records.delete(key);
          if (putsUntilPurge <= 0 || records.size >= maxRecords) purge(time);
          if (records.size >= maxRecords) {
            const message = `The memory store is full (${maxRecords} records). Raise maxRecords, or use another store.`;
            throw new McpSessionError("STORE_FAILED", message);
          }
          created += 1;
        }
        const lastUsedAt = Math.max(time, before?.lastUsedAt ?? 0);
        records.set(key, { ...write, key, lastUsedAt, number: before?.number ?? created });
        return true;
      },
      touch(key, at, time) {
        const record = live(key, time);
        if (record && record.lastUsedAt < at) records.set(key, { ...record, lastUsedAt: at });
      },
      delete(key, ifRevision, time) {
        if (ifRevision !== undefined && live(key, time)?.revision !== ifRevision) return false;
        records.delete(key);
        return true;
      },
      list({ prefix, owner, idleSince = Infinity, after: [last] = [0, ""], limit }, time) {
        const matches = [...records.values()].filter(
          (record) =>
            record.number > last &&
            record.key.startsWith(prefix) &&
            (owner === undefined || record.owner === owner) &&
            record.lastUsedAt <= idleSince &&
            !isExpired(record, time),
        );
        const page = matches.slice(0, limit);
        const isLast = matches.length <= limit;
        return { records: page, end: isLast ? undefined : [page[limit - 1]!.number, ""] };
      },
    },
    now,
  );
}

function isExpired({ expiresAt }: StoredTextRecord, time: number): boolean {
  return expiresAt !== undefined && expiresAt <= time;
}
