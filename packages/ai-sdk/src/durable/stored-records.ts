import {
  McpSessionError,
  type Principal,
  type SessionStore,
  type StoredRecord,
  type StoredValue,
  type StoreListQuery,
} from "@durable-mcp/core";
import { withoutCause } from "../errors/connection-error.ts";
import { withoutToolList } from "../slots/kept-session.ts";
import { parseRecord, recordOwner, recordValue, type SlotRecord } from "./slot-record.ts";

/** This process's last view of one record of a store. Writes compare and set. */
export interface RecordCell {
  /** `undefined` if nothing is stored, or if the stored value does not parse. */
  readonly record: SlotRecord | undefined;
  /** Whether the store holds anything under the key. */
  readonly isStored: boolean;
  /** @returns `false` on a conflict; the cell then has the stored record */
  put(next: SlotRecord): Promise<boolean>;
  /** @returns like `put` */
  delete(): Promise<boolean>;
}

/** More conflicts in a row than processes can cause: the store must be wrong. */
const maxConflicts = 100;
/** The most that a store lists at a time. */
const pageSize = 1_000;

/**
 * @param options.stored the value from the store; `undefined` if there was none
 * @param options.onInvalid called for a value that does not parse
 */
export function createRecordCell({
  store,
  key,
  owner,
  stored,
  onInvalid,
}: {
  store: SessionStore;
  key: string;
  owner: string;
  stored: StoredValue | undefined;
  onInvalid?: () => void;
}): RecordCell {
  let revision: string | null = null;
  let record: SlotRecord | undefined;
  const accept = (current: StoredValue | undefined) => {
    revision = current?.revision ?? null;
    record = current && parseRecord(current.value);
    if (current !== undefined && record === undefined) onInvalid?.();
  };
  accept(stored);

  return {
    get record() {
      return record;
    },
    get isStored() {
      return revision !== null;
    },
    async put(next) {
      const result = await store.put(key, recordValue(next), revision, { owner });
      if (!result.ok) {
        accept(result.current);
        return false;
      }
      ({ revision } = result);
      record = next;
      return true;
    },
    async delete() {
      if (revision === null) return true;
      const result = await store.delete(key, revision);
      accept(result.ok ? undefined : result.current);
      return result.ok;
    },
  };
}

/** Repeats an attempt after each conflict. */
export async function untilSettled(attempt: () => Promise<boolean>): Promise<void> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    if (await attempt()) return;
  }
  throw new McpSessionError(
    "STORE_FAILED",
    `The store reported ${maxConflicts} conflicts in a row on one key. Check that its put compares and sets.`,
  );
}

/** Removes the kept tool list from a record, even if others write the record at the same time. */
export async function forgetToolList({
  store,
  key,
  stored,
  principal,
  now,
}: {
  store: SessionStore;
  key: string;
  stored: StoredValue;
  principal: Principal;
  now: () => number;
}): Promise<void> {
  const cell = createRecordCell({ store, key, owner: recordOwner(principal), stored });
  await untilSettled(async () => {
    const { record } = cell;
    const snapshot = record && withoutToolList(record.snapshot);
    return !snapshot || (await cell.put({ ...record, snapshot, savedAt: now() }));
  });
}

/** All matching records, over all pages. */
export async function listAll(
  store: SessionStore,
  query: Omit<StoreListQuery, "cursor" | "limit">,
): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, cursor, limit: pageSize });
    records.push(...page.records);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return records;
}

/** A store's failure in a form for events. */
export function storeFailed(operation: string, cause: unknown): McpSessionError {
  if (McpSessionError.isInstance(cause)) return withoutCause(cause);
  // A store of the application may throw anything.
  return new McpSessionError("STORE_FAILED", `The store failed at ${operation} of a session.`);
}
