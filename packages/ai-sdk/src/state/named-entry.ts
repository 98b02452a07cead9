import { isRecord, isTimerMs } from "@durable-mcp/core/internal";
import {
  type ActiveSessionSnapshot,
  type Principal,
  type SessionSlot,
  type SessionSnapshot,
  sessionKey,
} from "@durable-mcp/core";
import * as z from "zod/mini";
import { isSessionName } from "../base/session-name.ts";
import { isNewerEntry, type KeptSession } from "../slots/kept-session.ts";
import { type NamedSlot, parseSlotName, slotName } from "../slots/step-slot.ts";
import { parseOrNothing, stateEntry, stateKeys } from "./session-state.ts";

/** A state's entry for one connection's named session. Times are milliseconds since 1970-01-01 UTC. */
export interface NamedEntry extends Omit<KeptSession, "ending"> {
  readonly version: 1;
  /** When the last step with it ended. */
  readonly lastUsedAt: number;
}

/** An entry keeps fields that only later releases know. */
const entrySchema = z.looseObject({
  version: z.literal(1),
  snapshot: z.unknown(),
  startedAt: z.optional(z.number()),
  lastUsedAt: z.number(),
  idleTimeoutMs: z.optional(z.custom(isTimerMs)),
});

/** Parses an entry from outside; `undefined` if it does not parse. */
export function parseNamedEntry(value: unknown): NamedEntry | undefined {
  if (!isRecord(value) || Object.hasOwn(value, "__proto__")) return undefined;
  // Own keys alone: the schema reads inherited ones too.
  const { success, data } = z.safeParse(entrySchema, { __proto__: null, ...value });
  const snapshot = success ? parseOrNothing(data.snapshot) : undefined;
  return snapshot && { ...(data as NamedEntry), snapshot };
}

/** The key of a named session of one principal in a state. */
export function namedKey(slot: NamedSlot, principal: Principal): string {
  return sessionKey({ connection: slotName(slot), principal });
}

/** The principal's named session that a key belongs to; `undefined` for all other keys. */
export function parseNamedKey(key: string, principal: Principal): NamedSlot | undefined {
  // The keys of named sessions all start like this.
  if (!key.startsWith('["[')) return undefined;
  try {
    const [first] = JSON.parse(key) as unknown[];
    const { connection, name } = parseSlotName(first as string);
    if (!isSessionName(name)) return undefined;
    return namedKey({ connection, name }, principal) === key ? { connection, name } : undefined;
  } catch {
    return undefined;
  }
}

/** A session that the step uses. */
interface InUse {
  readonly slot: SessionSlot;
  /** The entry before. */
  readonly entry: NamedEntry | undefined;
  /** A kept session that the first use replaces. */
  readonly outdated: ActiveSessionSnapshot | undefined;
  startedAt: number | undefined;
  readonly idleTimeoutMs: number | undefined;
}

export type HeldEntries = ReturnType<typeof createHeldEntries>;

/** The named sessions of a state, data from outside, in one step: found, changed or in use. */
export function createHeldEntries(state: unknown, now: () => number) {
  const inUse = new Map<string, InUse>();
  /** `undefined`: removed. */
  const written = new Map<string, NamedEntry | undefined>();
  let endedAt: number | undefined;

  const entryOf = ({ slot, entry, outdated, startedAt, idleTimeoutMs }: InUse) => {
    const snapshot = slot.changed ? slot.snapshot : (outdated ?? slot.snapshot);
    const lastUsedAt = endedAt ?? now();
    return snapshot && createEntry({ ...entry, snapshot, startedAt, lastUsedAt, idleTimeoutMs });
  };
  const write = (key: string, entry: NamedEntry | undefined) => {
    inUse.delete(key);
    written.set(key, entry);
  };
  /** The entry that the next step would find; `"invalid"` if it does not parse. */
  const find = (key: string): NamedEntry | "invalid" | undefined => {
    const own = inUse.get(key);
    if (own !== undefined) return entryOf(own);
    if (written.has(key)) return written.get(key);
    const value = stateEntry(state, key);
    return value === undefined ? undefined : (parseNamedEntry(value) ?? "invalid");
  };
  /** The entry that the next step would find and use. */
  const read = (key: string): NamedEntry | undefined => {
    const entry = find(key);
    return entry === "invalid" ? undefined : entry;
  };

  return {
    /** All of a principal; without an `entry` if it does not parse. */
    of(principal: Principal) {
      const keys = new Set([...stateKeys(state), ...written.keys(), ...inUse.keys()]);
      return [...keys].flatMap((key) => {
        const slot = parseNamedKey(key, principal);
        return slot && find(key) !== undefined ? [{ key, slot, entry: read(key) }] : [];
      });
    },
    read,
    isInvalid: (key: string) => find(key) === "invalid",
    /** Whether a later release wrote it. */
    isNewer: (key: string) => find(key) === "invalid" && isNewerEntry(stateEntry(state, key)),
    /** Whether the step has changed or used it. */
    has: (key: string) => inUse.has(key) || written.has(key),
    use(key: string, use: InUse) {
      written.delete(key);
      inUse.set(key, use);
    },
    /** Keeps an entry with another snapshot; the step no longer has its slot. */
    keep: (key: string, entry: NamedEntry, snapshot: SessionSnapshot) =>
      write(key, createEntry({ ...entry, snapshot })),
    remove: (key: string) => write(key, undefined),
    /** Notes that the sessions in use were used until now. */
    endStep() {
      endedAt ??= now();
    },
    /** The step's changes, under the keys of the state; `undefined` removes an entry. */
    changes: () => [...written, ...[...inUse].map(([key, use]) => [key, entryOf(use)] as const)],
  };
}

function createEntry(fields: Omit<NamedEntry, "version">): NamedEntry {
  const { snapshot, startedAt, lastUsedAt, idleTimeoutMs, ...others } = fields;
  return {
    ...others,
    version: 1,
    snapshot,
    ...(snapshot.kind === "session" && startedAt !== undefined && { startedAt }),
    lastUsedAt,
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
  };
}
