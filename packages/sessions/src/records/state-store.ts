import type { JsonValue, SessionStore, StoredValue } from "@durable-mcp/core";
import { isRecord, sameJson } from "@durable-mcp/core/internal";
import { slotNameStart } from "./step-slot.ts";

/** The one key of `session.state` that is ours: a record of entries under their keys. */
const stateKey = "mcpSessions";

/**
 * The agent and the agent session of a state. The keys in the state leave them out, because a state is of one
 * agent session. No agent session in a store has such an id.
 */
export const ofState = { agent: "default", sessionId: "" };

/** The state of an agent session as a store of one step, or of one use outside of a step. */
export interface StateStore extends SessionStore {
  /** `get`, at once. */
  read(key: string): StoredValue | undefined;
  /**
   * The agent session with all changes in its state; the same object when nothing changed. Neither the session
   * nor its state is mutated, and no other key of the state is touched.
   *
   * @param unsaved changes that are not in this store; `undefined` removes a record
   */
  commit<SESSION extends { state?: unknown }>(
    session: SESSION,
    unsaved?: readonly (readonly [key: string, record: object | undefined])[],
  ): SESSION;
}

/**
 * Nothing that this store compares and sets is seen by another process before the application has saved the
 * state. It keeps no marks of life: a state says nothing about a process that is still alive.
 *
 * @param state data from outside, read by own keys only
 */
export function createStateStore(state: unknown): StateStore {
  const changed = new Map<string, StoredValue | undefined>();
  const entries = ownValue(state, stateKey);
  let revisions = 0;

  const read = (key: string): StoredValue | undefined => {
    if (changed.has(key)) return changed.get(key);
    const entry = ownValue(entries, entryKey(key));
    const value = entry === undefined ? undefined : toRecord(key, entry);
    return value === undefined ? undefined : { value, revision: "0" };
  };
  /** @returns the conflict, if there is one */
  const write = (key: string, ifRevision: string | null | undefined, next?: StoredValue) => {
    const current = read(key);
    if (ifRevision !== undefined && (current?.revision ?? null) !== ifRevision) {
      return { ok: false, current } as const;
    }
    changed.set(key, next);
    return undefined;
  };

  return {
    read,
    get: async (key) => read(key),
    async put(key, value, ifRevision) {
      revisions += 1;
      const revision = String(revisions);
      return write(key, ifRevision, { value, revision }) ?? { ok: true, revision };
    },
    touch: async () => undefined,
    delete: async (key, ifRevision) => write(key, ifRevision) ?? { ok: true },
    async list({ prefix = "", owner, idleSince = Infinity }) {
      const keys = new Set([
        ...Object.keys(asRecord(entries)).flatMap(storeKey),
        ...changed.keys(),
      ]);
      const records = [...keys].flatMap((key) => {
        const stored = read(key);
        if (stored === undefined) return [];
        return [{ ...stored, key, owner: ownerOf(key), lastUsedAt: usedAt(stored.value) }];
      });
      return {
        records: records.filter(
          (record) =>
            record.key.startsWith(prefix) &&
            (owner ?? record.owner) === record.owner &&
            record.lastUsedAt <= idleSince,
        ),
      };
    },
    commit(session, unsaved = []) {
      const written = [...changed].map(([key, stored]) => [key, stored?.value] as const);
      const next = [...written, ...unsaved].map(([key, record]) => {
        const entry = record === undefined ? undefined : toEntry(key, record as object);
        return [entryKey(key), entry] as const;
      });
      return replaceEntries(session, next);
    },
  };
}

/** `[agent, session, slot, ...principal]` in a store is `[slot, ...principal]` in a state. */
function entryKey(key: string): string {
  return JSON.stringify((JSON.parse(key) as unknown[]).slice(2));
}

/** The key in a store; none for a key that is not ours. */
function storeKey(key: string): string[] {
  try {
    const parts: unknown = JSON.parse(key);
    const isOurs = Array.isArray(parts) && parts.every((part) => typeof part === "string");
    if (!isOurs || JSON.stringify(parts) !== key) return [];
    return [JSON.stringify([ofState.agent, ofState.sessionId, ...parts])];
  } catch {
    return [];
  }
}

/** The principal in a key, as stores have owners. */
function ownerOf(key: string): string {
  return JSON.stringify((JSON.parse(key) as unknown[]).slice(3));
}

/** What a key is of: a waiting call, a named session, or the session without a name. */
function kindOf(key: string): "call" | "named" | "unnamed" {
  const slot = String((JSON.parse(key) as unknown[])[2]);
  if (slot.startsWith("waiting/")) return "call";
  return slot.startsWith(slotNameStart) ? "named" : "unnamed";
}

/**
 * The record that stores keep for what an entry says. The entry of a session without a name is its snapshot; that
 * of a named session has other names for some fields. Anything else than an object does not parse.
 */
function toRecord(key: string, entry: unknown): JsonValue | undefined {
  const kind = kindOf(key);
  if (!isRecord(entry)) return kind === "call" ? undefined : null;
  // Own fields alone.
  const own = { ...entry } as Record<string, JsonValue>;
  if (kind === "call") return own;
  if (kind === "named") {
    const { lastUsedAt, savedAt: _, ...others } = own;
    return { ...others, ...(lastUsedAt !== undefined && { savedAt: lastUsedAt }) };
  }
  const { ending, ...snapshot } = own;
  return { version: 1, snapshot, savedAt: 0, ...(ending !== undefined && { ending }) };
}

function toEntry(key: string, record: object): object {
  const kind = kindOf(key);
  if (kind === "call") return record;
  const { version, snapshot, startedAt, savedAt, ending, idleTimeoutMs, ...others } =
    record as Record<string, JsonValue>;
  const left = ending === undefined ? {} : { ending };
  if (kind === "unnamed") return { ...(snapshot as object), ...left };
  const hasStart = (snapshot as { kind?: unknown }).kind === "session" && startedAt !== undefined;
  return {
    ...others,
    ...{ version, snapshot },
    ...(hasStart && { startedAt }),
    lastUsedAt: savedAt,
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    ...left,
  };
}

function usedAt(value: JsonValue): number {
  const savedAt = isRecord(value) ? value["savedAt"] : undefined;
  return typeof savedAt === "number" ? savedAt : 0;
}

function replaceEntries<SESSION extends { state?: unknown }>(
  session: SESSION,
  entries: readonly (readonly [key: string, entry: object | undefined])[],
): SESSION {
  const sessions = ownValue(session.state, stateKey);
  const after = new Map(Object.entries(asRecord(sessions)));
  let isChanged = false;
  for (const [key, entry] of new Map(entries)) {
    if (sameJson(ownValue(sessions, key), entry)) continue;
    isChanged = true;
    if (entry === undefined) after.delete(key);
    else after.set(key, structuredClone(entry));
  }
  if (!isChanged) return session;
  const { [stateKey]: _, ...otherKeys } = asRecord(session.state);
  const ownKey = after.size > 0 ? { [stateKey]: Object.fromEntries(after) } : {};
  return { ...session, state: { ...otherKeys, ...ownKey } };
}

/** An own value. Other values than records are returned unchanged, and do not parse. */
function ownValue(record: unknown, key: string): unknown {
  if (record === undefined || record === null) return undefined;
  if (!isRecord(record)) return record;
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
