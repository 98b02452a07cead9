import { isRecord, newerFormat, sameJson } from "@durable-mcp/core/internal";
import {
  type ActiveSessionSnapshot,
  parseSessionSnapshot,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import { beginSession } from "../slots/begin-session.ts";
import { isNewerEntry, lostSnapshot } from "../slots/kept-session.ts";

/** The one key of `session.state` that is ours: a record of snapshots under their session keys. */
const stateKey = "mcpSessions";

/** New entries under our keys, JSON; `undefined` removes one. */
type StateEntries = readonly (readonly [key: string, entry: object | undefined])[];

/** A slot of a registry, and its entry in the state. */
export interface SeededSlot {
  readonly slot: SessionSlot;
  /** A kept session that another one replaces in this step. */
  readonly outdated?: ActiveSessionSnapshot | undefined;
  /** The snapshot in the state. A pooled slot may have changed in earlier steps. */
  readonly before: SessionSnapshot | undefined;
  /** Whether the state has an entry for this slot that does not parse. */
  readonly isDiscarded: boolean;
  /** Whether the entry has to be written although nothing has used it. */
  readonly isChanged: boolean;
}

/**
 * Seeds a slot from the state of an agent session: data from outside, read by own keys only. A session in
 * an entry that does not parse counts as lost.
 */
export function seedSlot(
  state: unknown,
  key: string,
  createSlot: (snapshot?: SessionSnapshot) => SessionSlot,
  definition: McpClientConnection,
  now: number,
): SeededSlot {
  const entry = stateEntry(state, key);
  const before = parseOrNothing(entry);
  const isDiscarded = entry !== undefined && before === undefined;
  // Anything else than an object never was a session.
  const isLost = isDiscarded && isRecord(entry);
  const kept = isLost ? lostSnapshot({ url: endpointOf(definition) }) : before;
  const { snapshot, outdated, isChanged = false } = beginSession(definition, kept, now);
  return { slot: createSlot(snapshot), outdated, before, isDiscarded, isChanged };
}

/** @throws {McpSessionError} `STATE_INVALID` for an entry that a later release wrote */
export function throwIfNewer(state: unknown, key: string, connection: string): void {
  if (isNewerEntry(stateEntry(state, key))) throw newerFormat("The entry in the state", connection);
}

/** The value under one of our keys, unparsed. */
export function stateEntry(state: unknown, key: string): unknown {
  return ownValue(ownValue(state, stateKey), key);
}

/** All of our keys in a state. */
export function stateKeys(state: unknown): string[] {
  return Object.keys(asRecord(ownValue(state, stateKey)));
}

/** A snapshot; `undefined` if it does not parse. */
export function parseOrNothing(entry: unknown): SessionSnapshot | undefined {
  try {
    return parseSessionSnapshot(entry);
  } catch {
    return undefined;
  }
}

/**
 * The agent session with the changed slots in its state; the same object when nothing changed.
 * Neither the session nor its state is mutated, and no other key of the state is touched.
 *
 * @param named the changed entries of named sessions
 */
export function commitSlots<SESSION extends { state?: unknown }>(
  session: SESSION,
  slots: ReadonlyMap<string, SeededSlot>,
  named: StateEntries,
): SESSION {
  const changed = [...slots].filter(
    ([, { slot, before, isDiscarded, isChanged }]) =>
      isDiscarded || ((isChanged || slot.changed) && !sameJson(slot.snapshot, before)),
  );
  const entries = changed.map(([key, { slot }]) => [key, slot.snapshot] as const);
  return replaceEntries(session, [...entries, ...named]);
}

/** The agent session with these entries in its state, like `commitSlots`. */
export function replaceEntries<SESSION extends { state?: unknown }>(
  session: SESSION,
  entries: StateEntries,
): SESSION {
  const sessions = ownValue(session.state, stateKey);
  const after = new Map(Object.entries(asRecord(sessions)));
  let isChanged = false;
  for (const [key, entry] of entries) {
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
