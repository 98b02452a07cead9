import { checkWhole } from "../base/check-option.ts";
import { checkKnown } from "../base/known-options.ts";
import { createDrivenStore } from "./driven-store.ts";
import type { StoredTextRecord } from "./driver.ts";
import { createMemoryRecords } from "./memory-records.ts";
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
 * records, in the order of their creation.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): SessionStore {
  checkKnown(options, ["maxRecords", "now"]);
  const { maxRecords = 100_000, now } = options;
  checkWhole(maxRecords, "maxRecords", 1);
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
      touch: (key, at, time) => records.touch(key, at, time),
      delete(key, ifRevision, time) {
        if (!records.holds({ key, ifRevision }, time)) return false;
        records.delete(key);
        return true;
      },
      list({ prefix, owner, idleSince = Infinity, after: [last] = [0, ""], limit }, time) {
        const page: StoredTextRecord[] = [];
        let lastNumber = last;
        for (const record of records.all(time)) {
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
