import {
  type JsonValue,
  McpSessionError,
  type Principal,
  type SessionStore,
  type StoredRecord,
  type StoredValue,
  type StoreListQuery,
} from "@durable-mcp/core";
import { isTooLong, newerFormat, oauthKeys, sameJson, toolsIn } from "@durable-mcp/core/internal";
import { deleteAll } from "../base/delete-all.ts";
import { checkSessionName } from "../base/session-name.ts";
import { withoutCause } from "../events/connection-error.ts";
import { isNewerEntry } from "./kept-session.ts";
import { asWaitingCall, isCallOf, type ListedCall } from "../waiting/waiting-records.ts";
import {
  isSeenName,
  type ListedRecord,
  parseRecord,
  parseRecordKey,
  type RecordName,
  recordKey,
  recordOwner,
  type SlotRecord,
} from "./slot-record.ts";

/** More conflicts in a row than processes can cause: the store must be wrong. */
const maxConflicts = 100;
/** The most that a store lists at a time. */
const pageSize = 1_000;

export type RecordCell = ReturnType<typeof createRecordCell>;

/**
 * This process's last view of one record of a store. Writes compare and set.
 *
 * @param stored the value from the store; `undefined` if there was none
 * @param tell called for a value that does not parse, and for a tool list that the store has no room for
 */
export function createRecordCell(
  store: SessionStore,
  name: RecordName,
  principal: Principal,
  stored: StoredValue | undefined,
  tell?: (what: "invalid" | "no-room") => void,
) {
  // Not the listed key: a store may list a fingerprint instead of the principal.
  const key = recordKey(name, principal);
  let revision: string | null = null;
  let record: SlotRecord | undefined;
  let isNewer = false;
  const accept = (current: StoredValue | undefined) => {
    revision = current?.revision ?? null;
    isNewer = isNewerEntry(current?.value);
    record = current && parseRecord(current.value);
    if (current !== undefined && record === undefined && !isNewer) tell?.("invalid");
  };
  accept(stored);

  const cell = {
    /** `undefined` if nothing is stored, or if the stored value does not parse. */
    get record() {
      return record;
    },
    /** Whether the store holds anything under the key. */
    get isStored() {
      return revision !== null;
    },
    /** Whether a later release wrote what is stored, so that it must not be replaced. */
    get isNewer() {
      return isNewer;
    },
    /** Takes what the store has now. */
    reload: async () => accept(await store.get(key)),
    /** @returns `false` on a conflict; the cell then has the stored record */
    async put(next: SlotRecord): Promise<boolean> {
      // A snapshot is JSON by construction.
      const write = () =>
        store.put(key, next as unknown as JsonValue, revision, { owner: recordOwner(principal) });
      const result = await write().catch((error: unknown) => {
        const shorter = isTooLong(error) && toolsIn(next.snapshot).without;
        if (shorter) return { shorter };
        throw error;
      });
      if ("shorter" in result) {
        tell?.("no-room");
        const own = { ...next, snapshot: result.shorter };
        return sameJson(own, record) || (await cell.put(own));
      }
      if (!result.ok) {
        accept(result.current);
        return false;
      }
      ({ revision } = result);
      record = next;
      return true;
    },
    /** @returns like `put` */
    async delete(): Promise<boolean> {
      if (revision === null) return true;
      const result = await store.delete(key, revision);
      accept(result.ok ? undefined : result.current);
      return result.ok;
    },
    /** Writes the changed record, or deletes or leaves it. Changes it anew after each conflict. */
    async update(change: (record: SlotRecord | undefined) => SlotRecord | "delete" | "leave") {
      for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
        const next = change(record);
        if (next === "leave") return;
        if (isNewer) throw newerFormat("The stored session", name.connection);
        if (await (next === "delete" ? cell.delete() : cell.put(next))) return;
      }
      throw onlyConflicts();
    },
  };
  return cell;
}

function onlyConflicts(): McpSessionError {
  const what = `The store reported ${maxConflicts} conflicts in a row on one key.`;
  return new McpSessionError("STORE_FAILED", `${what} Check that its put compares and sets.`);
}

/** Has the kept tool list of a record answer nobody any more, even if others write the record at the same time. */
export async function forgetToolList(
  store: SessionStore,
  name: RecordName,
  stored: StoredValue,
  principal: Principal,
): Promise<void> {
  await createRecordCell(store, name, principal, stored).update((record) => {
    const snapshot = record && toolsIn(record.snapshot).outdated;
    return snapshot ? { ...record, snapshot } : "leave";
  });
}

/** Deletes what agent sessions have seen of shared sessions. @param principal as of `deleteCalls` */
export async function deleteSeen(
  store: SessionStore,
  seen: readonly ListedRecord[],
  principal?: Principal,
): Promise<void> {
  const keys = seen.map(({ key, of }) => ({ key: principal ? recordKey(of, principal) : key }));
  await deleteAll(store, keys);
}

interface RecordsQuery extends StoreListQuery {
  /** Only the records of named sessions of that name. */
  readonly name?: string | undefined;
  /** Only the records of one connection. */
  readonly connection?: string | undefined;
  /** Only the records of shared sessions, or those of one id; or only all others. */
  readonly shared?: boolean | string | undefined;
}

/** A record of a user's sign-in from a store's list, and the name in its key. */
export interface ListedGrant extends StoredRecord {
  readonly of: NonNullable<ReturnType<typeof oauthKeys.parse>>;
}

/** The record of a sign-in that a record is. The registration of a client serves all users, so it is none. */
function asGrant(record: StoredRecord): ListedGrant[] {
  const of = oauthKeys.parse(record.key);
  return of === undefined || of.kind === "client" ? [] : [{ ...record, of }];
}

/** The records of sessions, and those of something else. */
export interface FoundRecords {
  readonly records: readonly ListedRecord[];
  /** What agent sessions have seen of sessions that they share. */
  readonly seen: readonly ListedRecord[];
  /** Waiting calls have no name, and no agent sessions share them. */
  readonly waiting: readonly ListedCall[];
  /** Of users' sign-ins. They belong to no agent session. */
  readonly grants: readonly ListedGrant[];
}

/** A page of records, without those of something else. @throws {McpSessionError} `CONNECTION_INVALID` */
export async function listRecords(
  store: SessionStore,
  { name, connection, shared, ...query }: RecordsQuery,
): Promise<FoundRecords & { readonly cursor: string | undefined }> {
  if (name !== undefined) checkSessionName(name, "name");
  const page = await store.list(query);
  const found = page.records.flatMap((record): ListedRecord[] => {
    const of = parseRecordKey(record.key);
    if (of === undefined || (name !== undefined && of.name !== name)) return [];
    return connection === undefined || of.connection === connection ? [{ ...record, of }] : [];
  });
  const seen = found.filter(({ of }) => isSeenName(of));
  const records = found.filter(({ of }) => {
    if (isSeenName(of)) return false;
    const isShared = typeof shared === "string" ? of.shared : of.shared !== undefined;
    return shared === undefined || shared === isShared;
  });
  const isOfCalls = name === undefined && (shared === undefined || shared === false);
  const calls = isOfCalls ? page.records.flatMap(asWaitingCall) : [];
  const waiting = calls.filter((call) => isCallOf(call, connection));
  return { records, seen, waiting, grants: page.records.flatMap(asGrant), cursor: page.cursor };
}

/** All matching records, over all pages. */
export async function listAll(
  store: SessionStore,
  query: Omit<RecordsQuery, "cursor" | "limit">,
): Promise<FoundRecords> {
  const found = { records: [], seen: [], waiting: [], grants: [] } as {
    [KIND in keyof FoundRecords]: FoundRecords[KIND][number][];
  };
  let cursor: string | undefined;
  do {
    const page = await listRecords(store, { ...query, cursor, limit: pageSize });
    found.records.push(...page.records);
    found.seen.push(...page.seen);
    found.waiting.push(...page.waiting);
    found.grants.push(...page.grants);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

/** The event of a store's failure. */
export function storeFailed(operation: "close" | "touch", cause: unknown) {
  // A store of the application may throw anything.
  const error = McpSessionError.isInstance(cause)
    ? withoutCause(cause)
    : new McpSessionError("STORE_FAILED", `The store failed at ${operation} of a session.`);
  return { type: "store-failed", operation, error } as const;
}
