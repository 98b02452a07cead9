import { type JsonValue, McpSessionError, type SessionStore } from "@durable-mcp/core";
import type { HandlerSettings } from "../base/settings.ts";
import type { StoredState } from "../state/stored-state.ts";
import { newStateRecord, parseStateRecord, type StateRecord } from "./state-record.ts";
import { storeKey } from "./store-key.ts";
import { createStoredRow, type RowKind, type StoredRow } from "./stored-row.ts";

/** A state in the store. Where nothing is stored it is the initial one. */
export type OwnRow = StoredRow<StateRecord>;

/** The share of a bounded store that new states and tasks leave to the answers of those that exist. */
export const freeForOthers = 0.2;

const hourMs = 3_600_000;

/** States with a record of their own. */
export interface StoredStates {
  /** The row of a state; all who use it in this process have the same one. */
  rowOf(hash: string, owner: string): OwnRow;
  /** The row of a state that is stored and has this owner. */
  find(hash: string, owner: string): Promise<OwnRow | undefined>;
}

export function createStoredStates(
  store: SessionStore,
  { name, now, timeouts: { stateIdleMs } }: HandlerSettings,
  initialState: () => StoredState,
): StoredStates {
  const rows = createWeakMap<OwnRow>();
  // The time of last use is not written on every request.
  const renewAfter = Math.min(stateIdleMs / 10, hourMs);

  function rowOf(hash: string, owner: string): OwnRow {
    const key = storeKey(name, "state", hash);
    return rows.get(JSON.stringify([key, owner]), () => {
      const kind: RowKind<StateRecord> = {
        ...{ store, key, now, leaveFree: freeForOthers },
        parse: (stored, known) => {
          const isKnown = known?.revision === stored.revision;
          const record = isKnown ? known.record : parseStateRecord(stored.value);
          if (!record) throw unreadable();
          return record.usedAt + stateIdleMs > now() ? record : undefined;
        },
        putOf: (record, ifRevision) => ({
          ...{ type: "put", key, value: record as unknown as JsonValue, ifRevision },
          ...{ owner: record.owner, expiresAt: record.usedAt + stateIdleMs },
        }),
        isStale: ({ usedAt, changes }) => changes > 0 && now() - usedAt > renewAfter,
        absent: () => newStateRecord(owner, initialState(), now()),
      };
      return createStoredRow(kind, { record: kind.absent!(), revision: null });
    });
  }

  return {
    rowOf,
    find: async (hash, owner) => {
      const row = rowOf(hash, owner);
      await row.load();
      return isStored(row) && row.record.owner === owner ? row : undefined;
    },
  };
}

export function isStored(row: OwnRow): boolean {
  return row.record.changes > 0;
}

function unreadable(): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    "A stored state cannot be read: another release or another program wrote it. It is left as it is.",
    { data: { field: "state" } },
  );
}

/** Values that last as long as somebody uses them. */
function createWeakMap<Value extends object>() {
  const references = new Map<string, WeakRef<Value>>();
  const forget = new FinalizationRegistry<string>((key) => {
    if (!references.get(key)?.deref()) references.delete(key);
  });
  return {
    get(key: string, make: () => Value): Value {
      const known = references.get(key)?.deref();
      if (known) return known;
      const value = make();
      references.set(key, new WeakRef(value));
      forget.register(value, key);
      return value;
    },
  };
}
