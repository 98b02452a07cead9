import type { JsonValue, SessionStore, StoredValue } from "@durable-mcp/core";
import type { HandlerSettings } from "../base/settings.ts";
import { expiryOf, isUseStale, parseSessionRecord, type SessionRecord } from "./session-record.ts";
import { storeKey } from "./store-key.ts";

/** A state object as it is stored. */
export type StoredState = SessionRecord["state"];

export type SaveStateResult =
  | { readonly outcome: "saved"; readonly version: number }
  /** The stored state has changed since. */
  | {
      readonly outcome: "conflict";
      readonly state: StoredState;
      readonly version: number;
      readonly writers: readonly string[];
    }
  /** The session has ended or expired. */
  | { readonly outcome: "gone" };

/** How many writes of the state are stored by name. */
export const keptWriters = 8;

/** One session in the store. The last record read is kept, as the base of the next change. */
export interface StoredSession {
  readonly hash: string;
  /** As last read or written. */
  readonly record: SessionRecord;
  readonly revision: string;
  /** Takes over the record of `other`, a copy of the same session, if it is newer. */
  see(other: StoredSession): void;
  /** Reads it again. `undefined` when the session has ended or expired. */
  load(): Promise<SessionRecord | undefined>;
  /**
   * Changes any field but the state, on the newest stored record.
   * @returns the new record; `undefined` when the session is gone
   */
  edit(change: (record: SessionRecord) => SessionRecord): Promise<SessionRecord | undefined>;
  /** Replaces the state if its version is still `ifVersion`; `writer` is stored as the write's name. */
  saveState(state: StoredState, ifVersion: number, writer: string): Promise<SaveStateResult>;
  /** Notes the use, when the last note is old. */
  renew(): Promise<void>;
}

/** The sessions of one handler in its store. */
export function createStoredSessions(store: SessionStore, settings: HandlerSettings) {
  const keyOf = (hash: string) => storeKey(settings.name, "session", hash);
  const rows = openRows(store, settings, keyOf);
  async function find(hash: string): Promise<StoredSession | undefined> {
    const stored = await rows.get(hash);
    const record = rows.parse(stored);
    return stored && record && bindSession(rows, hash, record, stored.revision);
  }
  return {
    /** Stores a new session; ids are random, so one that is already there is a failure. */
    create: async (hash: string, record: SessionRecord): Promise<StoredSession> => {
      const result = await rows.put(hash, record, null);
      if (!result.ok) throw new Error("A new session id is in use already.");
      return bindSession(rows, hash, record, result.revision);
    },
    find,
    isStored: async (hash: string) => (await find(hash)) !== undefined,
    remove: async (hash: string): Promise<void> => {
      await store.delete(keyOf(hash));
    },
  };
}

export type StoredSessions = ReturnType<typeof createStoredSessions>;

function openRows(store: SessionStore, settings: HandlerSettings, keyOf: (hash: string) => string) {
  return {
    settings,
    get: (hash: string) => store.get(keyOf(hash)),
    put: (hash: string, record: SessionRecord, ifRevision: string | null) =>
      store.put(keyOf(hash), record as unknown as JsonValue, ifRevision, {
        owner: record.owner,
        expiresAt: expiryOf(record, settings.timeouts),
      }),
    // The stores' clocks and their granularity differ from ours: an expired record counts as none.
    parse: (stored: StoredValue | undefined) => {
      const record = stored && parseSessionRecord(stored.value);
      return record && expiryOf(record, settings.timeouts) > settings.now() ? record : undefined;
    },
  };
}

function bindSession(
  rows: ReturnType<typeof openRows>,
  hash: string,
  firstRecord: SessionRecord,
  firstRevision: string,
): StoredSession {
  const { now, timeouts } = rows.settings;
  let record = firstRecord;
  let revision = firstRevision;

  function take(stored: StoredValue | undefined, refused?: string): SessionRecord | undefined {
    const parsed = rows.parse(stored);
    if (!stored || !parsed) return undefined;
    // A record that refused our newest one counts even if it is older: stores may lose last writes.
    if (parsed.changes >= record.changes || refused === revision) {
      ({ revision } = stored);
      record = parsed;
    }
    return parsed;
  }

  /** Repeats `change` until its base is the stored record; `undefined` from `change` stops it. */
  async function replace(
    change: (record: SessionRecord) => SessionRecord | undefined,
  ): Promise<"done" | "stopped" | "gone"> {
    for (;;) {
      const changed = change(record);
      if (!changed) return "stopped";
      const usedAt = Math.max(now(), changed.usedAt);
      const next = { ...changed, usedAt, changes: record.changes + 1 };
      const tried = revision;
      const result = await rows.put(hash, next, tried);
      if (result.ok) {
        if (next.changes > record.changes) record = next;
        if (record === next) ({ revision } = result);
        return "done";
      }
      if (!take(result.current, tried)) return "gone";
    }
  }

  return {
    hash,
    get record() {
      return record;
    },
    get revision() {
      return revision;
    },
    see: (other) => {
      if (other.record.changes <= record.changes) return;
      ({ record, revision } = other);
    },
    load: async () => take(await rows.get(hash)),
    edit: async (change) => ((await replace(change)) === "gone" ? undefined : record),
    saveState: async (state, ifVersion, writer) => {
      const outcome = await replace((current) => {
        if (current.stateVersion !== ifVersion) return undefined;
        const stateWriters = [...(current.stateWriters ?? []), writer].slice(-keptWriters);
        return { ...current, state, stateVersion: ifVersion + 1, stateWriters };
      });
      if (outcome === "gone") return { outcome };
      if (outcome === "done") return { outcome: "saved", version: ifVersion + 1 };
      const { state: theirs, stateVersion: version, stateWriters: writers = [] } = record;
      return { outcome: "conflict", state: theirs, version, writers };
    },
    renew: async () => {
      if (isUseStale(record, timeouts, now())) await replace((current) => current);
    },
  };
}
