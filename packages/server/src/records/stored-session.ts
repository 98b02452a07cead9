import type { JsonValue, SessionStore, StoredValue } from "@durable-mcp/core";
import {
  expiryOf,
  isUseStale,
  parseSessionRecord,
  type SessionLifetime,
  type SessionRecord,
} from "./session-record.ts";
import { storeKey } from "./store-key.ts";

/** A state object as it is stored. */
export type StoredState = SessionRecord["state"];

export type SaveStateResult =
  | { readonly outcome: "saved"; readonly version: number }
  /** Somebody else changed the state since. */
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

/** One session in the store. What was read last is kept, to be the base of the next change. */
export interface StoredSession {
  /** As last read or written. */
  readonly record: SessionRecord;
  readonly revision: string;
  /** Takes over what `other` read of the same session, if that is newer. */
  see(other: StoredSession): void;
  /** Reads it again. `undefined` when the session has ended or expired. */
  load(): Promise<SessionRecord | undefined>;
  /**
   * Changes anything but the state, on whatever is stored by then.
   * @returns what is stored now; `undefined` when the session is gone
   */
  edit(change: (record: SessionRecord) => SessionRecord): Promise<SessionRecord | undefined>;
  /** Replaces the state if its version is still `ifVersion`; `writer` is stored as the write's name. */
  saveState(state: StoredState, ifVersion: number, writer: string): Promise<SaveStateResult>;
  /** Notes the use, when the last note is old. */
  renew(): Promise<void>;
}

export interface StoredSessionOptions {
  readonly store: SessionStore;
  /** The handler's. */
  readonly name: string;
  readonly lifetime: SessionLifetime;
  readonly now: () => number;
}

/** The sessions of one handler in its store. */
export function createStoredSessions({ store, name, lifetime, now }: StoredSessionOptions) {
  const keyOf = (hash: string) => storeKey(name, "session", hash);
  const put = (hash: string, record: SessionRecord, ifRevision: string | null) =>
    store.put(keyOf(hash), record as unknown as JsonValue, ifRevision, {
      owner: record.owner,
      expiresAt: expiryOf(record, lifetime),
    });

  /** The stores' clocks are not ours, nor is their granularity: an expired record is none. */
  function parse(stored: StoredValue | undefined): SessionRecord | undefined {
    const record = stored && parseSessionRecord(stored.value);
    return record && expiryOf(record, lifetime) > now() ? record : undefined;
  }

  function bind(hash: string, first: SessionRecord, firstRevision: string): StoredSession {
    let record = first;
    let revision = firstRevision;

    function take(stored: StoredValue | undefined, refused?: string): SessionRecord | undefined {
      const parsed = parse(stored);
      if (!stored || !parsed) return undefined;
      // What refused our newest is what counts, though it be older: a store may lose its last writes.
      if (parsed.changes >= record.changes || refused === revision) {
        ({ revision } = stored);
        record = parsed;
      }
      return parsed;
    }

    /** Tries until what it was based on is what is stored; `undefined` from `change` stops it. */
    async function replace(
      change: (record: SessionRecord) => SessionRecord | undefined,
    ): Promise<"done" | "stopped" | "gone"> {
      for (;;) {
        const changed = change(record);
        if (!changed) return "stopped";
        const usedAt = Math.max(now(), changed.usedAt);
        const next = { ...changed, usedAt, changes: record.changes + 1 };
        const tried = revision;
        const result = await put(hash, next, tried);
        if (result.ok) {
          if (next.changes > record.changes) record = next;
          if (record === next) ({ revision } = result);
          return "done";
        }
        if (!take(result.current, tried)) return "gone";
      }
    }

    return {
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
      load: async () => take(await store.get(keyOf(hash))),
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
        if (isUseStale(record, lifetime, now())) await replace((current) => current);
      },
    };
  }

  return {
    /** Stores a new session; ids are random, so one that is there already is a failure. */
    async create(hash: string, record: SessionRecord): Promise<StoredSession> {
      const result = await put(hash, record, null);
      if (!result.ok) throw new Error("A new session id is in use already.");
      return bind(hash, record, result.revision);
    },
    async find(hash: string): Promise<StoredSession | undefined> {
      const stored = await store.get(keyOf(hash));
      const record = parse(stored);
      return stored && record && bind(hash, record, stored.revision);
    },
    async remove(hash: string): Promise<void> {
      await store.delete(keyOf(hash));
    },
  };
}

export type StoredSessions = ReturnType<typeof createStoredSessions>;
