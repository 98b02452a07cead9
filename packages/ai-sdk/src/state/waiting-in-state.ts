import type { JsonValue, SessionStore, StoredRecord } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { WaitingSource } from "../waiting/waiting-source.ts";
import { stateEntry, stateKeys } from "./session-state.ts";

/** The agent session of a state. The state's keys leave it out, because a state is of one agent session. */
const stateAgent = "default";
const stateSession = "state";

/** The start of the keys of waiting calls in a state. No connection has such a name. */
const keyStart = '["waiting/';

/** Whether an entry of a state is a waiting call, of this owner if one is given. */
export function isWaitingKey(key: string, owner?: string): boolean {
  if (!key.startsWith(keyStart)) return false;
  try {
    const parts: unknown = JSON.parse(key);
    return Array.isArray(parts) && (owner === undefined || ownerOf(key) === owner);
  } catch {
    return false;
  }
}

/**
 * The waiting calls in an agent session's state, as a store of one step. Nothing that it compares and sets is seen
 * by another process before the application has saved the state.
 */
export interface WaitingInState {
  readonly store: SessionStore;
  /** The changed entries of the state. */
  changes(): (readonly [key: string, entry: object | undefined])[];
}

/** @param state data from outside */
export function createWaitingInState(state: unknown, now: () => number): WaitingInState {
  const records = new Map<string, StoredRecord>();
  const changed = new Set<string>();
  let revisions = 0;
  const set = (key: string, value: JsonValue, owner: string, lastUsedAt = now()) => {
    revisions += 1;
    const revision = String(revisions);
    records.set(key, { key: storeKey(key), value, revision, owner, lastUsedAt });
    return revision;
  };
  for (const key of stateKeys(state)) {
    const value = stateEntry(state, key);
    if (isWaitingKey(key) && isRecord(value)) set(key, value as JsonValue, ownerOf(key), 0);
  }

  const store: SessionStore = {
    get: async (key) => records.get(stateKey(key)),
    async put(key, value, ifRevision, { owner }) {
      const own = stateKey(key);
      const current = records.get(own);
      if ((current?.revision ?? null) !== ifRevision) return { ok: false, current };
      changed.add(own);
      return { ok: true, revision: set(own, value, owner) };
    },
    // A state says nothing about a process that is still alive.
    touch: async () => undefined,
    async delete(key, ifRevision) {
      const own = stateKey(key);
      const current = records.get(own);
      if (ifRevision !== undefined && current?.revision !== ifRevision) {
        return { ok: false, current };
      }
      changed.add(own);
      records.delete(own);
      return { ok: true };
    },
    list: async ({ prefix = "", owner }) => ({
      records: [...records.values()].filter(
        (record) => record.key.startsWith(prefix) && (owner ?? record.owner) === record.owner,
      ),
    }),
  };
  return {
    store,
    changes: () => [...changed].map((key) => [key, records.get(key)?.value as object | undefined]),
  };
}

/** A step on a state has its waiting calls here. */
export function waitingSource(
  { store }: WaitingInState,
  options: Pick<WaitingSource, "claimLeg" | "closeTimeoutMs">,
): WaitingSource {
  return { store, agent: stateAgent, sessionId: stateSession, ...options };
}

/** `[agent, session, "waiting/<id>", ...principal]` of a store is `["waiting/<id>", ...principal]` in a state. */
function stateKey(key: string): string {
  return JSON.stringify((JSON.parse(key) as unknown[]).slice(2));
}

function storeKey(key: string): string {
  return JSON.stringify([stateAgent, stateSession, ...(JSON.parse(key) as unknown[])]);
}

/** The principal of an entry, as stores have owners. */
function ownerOf(key: string): string {
  return JSON.stringify((JSON.parse(key) as unknown[]).slice(1));
}
