import type { Principal, SessionSlot, SessionSnapshot } from "@durable-mcp/core";
import { type NamedEntry, parseNamedEntry, parseNamedKey } from "./named-entry.ts";
import { stateEntry, stateKeys } from "./session-state.ts";
import type { NamedSlot } from "../slots/slot-name.ts";

/** A session that the step uses. */
interface InUse {
  readonly slot: SessionSlot;
  startedAt: number | undefined;
  readonly idleTimeoutMs: number | undefined;
}

/** The named sessions of a state in one step: found, changed or in use. */
export interface HeldEntries {
  /** All of a principal, under their keys. */
  of(principal: Principal): readonly (readonly [key: string, slot: NamedSlot])[];
  /** The entry that the next step would find; `"invalid"` if it does not parse. */
  read(key: string): NamedEntry | "invalid" | undefined;
  /** Whether the step has changed or used it. */
  has(key: string): boolean;
  use(key: string, use: InUse): void;
  /** Keeps an entry with another snapshot; the step no longer has its slot. */
  keep(key: string, entry: NamedEntry, snapshot: SessionSnapshot): void;
  remove(key: string): void;
  /** Notes that the sessions in use were used until now. */
  endStep(): void;
  /** The step's changes, under the keys of the state; `undefined` removes an entry. */
  changes(): (readonly [key: string, entry: NamedEntry | undefined])[];
}

/** @param state data from outside */
export function createHeldEntries(state: unknown, now: () => number): HeldEntries {
  const inUse = new Map<string, InUse>();
  /** `undefined`: removed. */
  const written = new Map<string, NamedEntry | undefined>();
  let endedAt: number | undefined;

  const entryOf = ({ slot, startedAt, idleTimeoutMs }: InUse): NamedEntry | undefined =>
    slot.snapshot && createEntry(slot.snapshot, startedAt, endedAt ?? now(), idleTimeoutMs);

  const write = (key: string, entry: NamedEntry | undefined) => {
    inUse.delete(key);
    written.set(key, entry);
  };

  return {
    of(principal) {
      const keys = new Set([...stateKeys(state), ...written.keys(), ...inUse.keys()]);
      return [...keys].flatMap((key) => {
        const slot = parseNamedKey(key, principal);
        return slot ? [[key, slot] as const] : [];
      });
    },
    read(key) {
      const own = inUse.get(key);
      if (own !== undefined) return entryOf(own);
      if (written.has(key)) return written.get(key);
      const value = stateEntry(state, key);
      return value === undefined ? undefined : (parseNamedEntry(value) ?? "invalid");
    },
    has: (key) => inUse.has(key) || written.has(key),
    use(key, use) {
      written.delete(key);
      inUse.set(key, use);
    },
    keep(key, { startedAt, lastUsedAt, idleTimeoutMs }, snapshot) {
      write(key, createEntry(snapshot, startedAt, lastUsedAt, idleTimeoutMs));
    },
    remove: (key) => write(key, undefined),
    endStep() {
      endedAt ??= now();
    },
    changes() {
      return [...written, ...[...inUse].map(([key, use]) => [key, entryOf(use)] as const)];
    },
  };
}

function createEntry(
  snapshot: SessionSnapshot,
  startedAt: number | undefined,
  lastUsedAt: number,
  idleTimeoutMs: number | undefined,
): NamedEntry {
  return {
    version: 1,
    snapshot,
    ...(snapshot.kind === "session" && startedAt !== undefined && { startedAt }),
    lastUsedAt,
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
  };
}
