import {
  createSessionSlot,
  parseSessionSnapshot,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";

/** The one key of `session.state` that is ours: a record of snapshots under their session keys. */
const stateKey = "mcpSessions";

/** A slot of a registry, with what became of the state it was seeded from. */
export interface SeededSlot {
  readonly slot: SessionSlot;
  /** Whether the state held something for this slot that does not parse. */
  readonly isDiscarded: boolean;
}

/** Seeds a slot from the state of an agent session: data from outside, read by own keys only. */
export function seedSlot(
  state: unknown,
  key: string,
  createSlot: (snapshot?: SessionSnapshot) => SessionSlot = createSessionSlot,
): SeededSlot {
  const entry = ownValue(ownValue(state, stateKey), key);
  if (entry === undefined) return { slot: createSlot(), isDiscarded: false };
  const snapshot = parseOrNothing(entry);
  return { slot: createSlot(snapshot), isDiscarded: snapshot === undefined };
}

function parseOrNothing(entry: unknown): SessionSnapshot | undefined {
  try {
    return parseSessionSnapshot(entry);
  } catch {
    return undefined;
  }
}

/**
 * The agent session with the changed slots in its state; the same object when nothing changed.
 * Neither the session nor its state is mutated, and no other key of the state is touched.
 */
export function commitSlots<SESSION extends { state?: unknown }>(
  session: SESSION,
  slots: ReadonlyMap<string, SeededSlot>,
): SESSION {
  const changed = [...slots].filter(([, { slot, isDiscarded }]) => slot.changed || isDiscarded);
  return replaceEntries(
    session,
    changed.map(([key, { slot }]) => [key, slot.snapshot]),
  );
}

/** The agent session without the slots under these keys, on the same terms as `commitSlots`. */
export function removeSlots<SESSION extends { state?: unknown }>(
  session: SESSION,
  keys: readonly string[],
): SESSION {
  return replaceEntries(
    session,
    keys.map((key) => [key, undefined]),
  );
}

function replaceEntries<SESSION extends { state?: unknown }>(
  session: SESSION,
  entries: readonly (readonly [key: string, snapshot: SessionSnapshot | undefined])[],
): SESSION {
  const sessions = ownValue(session.state, stateKey);
  const after = new Map(Object.entries(asRecord(sessions)));
  let isChanged = false;
  for (const [key, snapshot] of entries) {
    if (sameJson(ownValue(sessions, key), snapshot)) continue;
    isChanged = true;
    if (snapshot === undefined) after.delete(key);
    else after.set(key, structuredClone(snapshot));
  }
  if (!isChanged) return session;
  const { [stateKey]: _, ...otherKeys } = asRecord(session.state);
  const ownKey = after.size > 0 ? { [stateKey]: Object.fromEntries(after) } : {};
  return { ...session, state: { ...otherKeys, ...ownKey } };
}

/** An own value. What should be a record and is not stands for it, and will not parse. */
function ownValue(record: unknown, key: string): unknown {
  if (record === undefined || record === null) return undefined;
  if (!isRecord(record)) return record;
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sameJson(a: unknown, b: unknown): boolean {
  try {
    return JSON.stringify(a) === JSON.stringify(b);
  } catch {
    return false; // Nested too deep to be printed: not a snapshot of ours.
  }
}
