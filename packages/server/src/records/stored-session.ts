import type { JsonValue, SessionStore } from "@durable-mcp/core";
import type { HandlerSettings } from "../base/settings.ts";
import { expiryOf, parseSessionRecord, renewAfter, type SessionRecord } from "./session-record.ts";
import { isFailure } from "./commit-rows.ts";
import { createStoredRow, type RowKind, type RowVersion, type StoredRow } from "./stored-row.ts";
import { storeKey } from "./store-key.ts";

/** A session as one read found it. */
export interface FoundRow extends RowVersion<SessionRecord> {
  readonly hash: string;
}

/** One session in the store. */
export interface StoredSession extends StoredRow<SessionRecord> {
  readonly hash: string;
}

/** The sessions of one handler in its store. */
export function createStoredSessions(store: SessionStore, settings: HandlerSettings) {
  const { now, timeouts, name } = settings;
  const isLive = (record: SessionRecord) => expiryOf(record, timeouts) > now();

  function kindOf(hash: string): RowKind<SessionRecord> {
    const key = storeKey(name, "session", hash);
    return {
      ...{ store, key, now },
      parse: (stored, known) => {
        const isKnown = known?.revision === stored.revision;
        const record = isKnown ? known.record : parseSessionRecord(stored.value);
        // The stores' clocks and their granularity differ from ours: an expired record counts as none.
        return record && isLive(record) ? record : undefined;
      },
      putOf: (record, ifRevision) => ({
        ...{ type: "put", key, value: record as unknown as JsonValue, ifRevision },
        ...{ owner: record.owner, expiresAt: expiryOf(record, timeouts) },
      }),
      isStale: ({ usedAt }) => now() - usedAt > renewAfter(timeouts),
    };
  }

  /** `known` spares the reading of a value that has not changed. */
  async function find(hash: string, known?: FoundRow): Promise<FoundRow | undefined> {
    const kind = kindOf(hash);
    const stored = await store.get(kind.key);
    const record = stored && kind.parse(stored, known);
    return record && { hash, record, revision: stored.revision };
  }

  return {
    /** Stores a new session; ids are random, so one that is already there is a failure. */
    create: async (hash: string, record: SessionRecord, leaveFree: number): Promise<FoundRow> => {
      const { key, value, owner, expiresAt } = kindOf(hash).putOf(record, null);
      const put = () => store.put(key, value, null, { owner, expiresAt, leaveFree });
      const result = await put().catch((error: unknown) => {
        if (!isFailure(error)) throw error;
      });
      if (result?.ok) return { hash, record, revision: result.revision };
      if (result) throw new Error("A new session id is in use already.");
      const again = await put();
      // The first try was done all the same: nobody else has this id.
      const revision = again.ok ? again.revision : again.current?.revision;
      if (revision === undefined) throw new Error("A new session is gone already.");
      return { hash, record, revision };
    },
    find,
    bind: ({ hash, ...found }: FoundRow): StoredSession =>
      Object.assign(createStoredRow(kindOf(hash), found), { hash }),
    isStored: async (hash: string) => (await find(hash)) !== undefined,
    remove: async (hash: string): Promise<void> => {
      await store.delete(storeKey(name, "session", hash));
    },
  };
}

export type StoredSessions = ReturnType<typeof createStoredSessions>;
