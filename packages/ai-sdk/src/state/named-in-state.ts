import {
  createSessionSlot,
  type Principal,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { describeSnapshot } from "../slots/describe-snapshot.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { isIdle } from "../slots/idle-timeout.ts";
import { inParallel } from "../base/in-parallel.ts";
import { type NamedEntry, namedKey, parseNamedEntry, parseNamedKey } from "./named-entry.ts";
import type { KeptSession, NamedSlots } from "../slots/named-slots.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import { stateEntry, stateKeys } from "./session-state.ts";

/** The named sessions in the state of an agent session. */
export interface NamedInState extends NamedSlots {
  /** What the step changed, under the keys of the state; `undefined` removes. */
  changes(): (readonly [key: string, entry: NamedEntry | undefined])[];
}

/** A session that the step has changed or used. */
type Held = Pick<NamedEntry, "startedAt" | "idleTimeoutMs" | "lastUsedAt"> & {
  readonly slot: Pick<SessionSlot, "snapshot">;
  readonly isInUse: boolean;
  /** Whether the state has something that this takes the place of. */
  readonly isKept: boolean;
};

/** How many sessions are ended at a time. */
const endedAtOnce = 10;

export function createNamedInState({
  state,
  pool,
  emit,
  now,
}: {
  /** Data from outside. */
  state: unknown;
  pool: SessionPool | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}): NamedInState {
  const held = new Map<string, Held | "removed">();
  const visited = new Set<string>();
  const endings = new Set<Promise<unknown>>();
  let endedAt: number | undefined;

  const entryOf = ({ slot, startedAt, idleTimeoutMs, ...use }: Held): NamedEntry | undefined =>
    slot.snapshot && {
      version: 1,
      snapshot: slot.snapshot,
      ...(slot.snapshot.kind === "session" && startedAt !== undefined && { startedAt }),
      lastUsedAt: use.isInUse ? (endedAt ?? now()) : use.lastUsedAt,
      ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    };

  /** What the next step would find. */
  const read = (key: string): NamedEntry | "invalid" | undefined => {
    const own = held.get(key);
    if (own === "removed") return undefined;
    if (own !== undefined) return entryOf(own);
    const value = stateEntry(state, key);
    return value === undefined ? undefined : (parseNamedEntry(value) ?? "invalid");
  };
  const hold = (key: string, entry: NamedEntry, snapshot: SessionSnapshot) => {
    held.set(key, { ...entry, slot: { snapshot }, isInUse: false, isKept: true });
  };
  const keysOf = (principal: Principal) => {
    const slots = [...new Set([...stateKeys(state), ...held.keys()])].map((key) => {
      const slot = parseNamedKey(key, principal);
      return slot && ([key, slot] as const);
    });
    return slots.filter((slot) => slot !== undefined);
  };

  return {
    open(slot, { principal, definition, idleTimeoutMs }) {
      const key = namedKey(slot, principal);
      const found = read(key);
      if (found === "invalid") emit({ type: "discarded", ...slot, reason: "invalid" });
      const entry = found === "invalid" ? undefined : found;
      const snapshot = entry?.snapshot;
      const own = pool
        ? pool.createSlot(slot, principal, definition, snapshot)
        : createSessionSlot(snapshot);
      let startedAt = entry?.startedAt;
      held.set(key, {
        slot: own,
        get startedAt() {
          return startedAt;
        },
        lastUsedAt: now(),
        idleTimeoutMs: idleTimeoutMs ?? entry?.idleTimeoutMs,
        isInUse: true,
        isKept: found !== undefined,
      });
      return {
        slot: own,
        onSession() {
          startedAt = now();
        },
      };
    },

    async list(principal) {
      return keysOf(principal).flatMap(([key, slot]): KeptSession[] => {
        const entry = read(key);
        if (entry === undefined) return [];
        if (entry === "invalid") return [{ ...slot, kind: "invalid", lastUsedAt: 0 }];
        const { version: _, snapshot, startedAt, ...rest } = entry;
        const isSession = snapshot.kind === "session";
        return [
          {
            ...slot,
            ...describeSnapshot(snapshot),
            ...(isSession && { startedAt }),
            ...rest,
          },
        ];
      });
    },

    async end(slot, { principal, definition, mode }) {
      const key = namedKey(slot, principal);
      const entry = read(key);
      const forget = () => void held.set(key, "removed");
      if (entry === undefined || entry === "invalid") {
        forget();
        return { ...slot, ended: true };
      }
      const { snapshot } = entry;
      const lost = () => hold(key, entry, { version: 1, kind: "lost", url: snapshot.url });
      if (snapshot.kind !== "session") {
        if (mode === "end") forget();
        else hold(key, entry, snapshot);
        return { ...slot, ended: true };
      }
      const isDeclared = definition && new URL(definition.options.url).href === snapshot.url;
      if (!isDeclared) {
        forget();
        return { ...slot, ended: false, reason: "undeclared" };
      }
      const { connection } = slot;
      const outcome = await endMcpSession({ definition, connection, principal, snapshot, now });
      if (mode === "restart") lost();
      else if (outcome.ended) forget();
      // To be tried again.
      else hold(key, entry, snapshot);
      return outcome.ended ? { ...slot, ended: true } : { ...slot, ...outcome };
    },

    async clearTools(slot, principal) {
      const key = namedKey(slot, principal);
      const entry = read(key);
      if (entry === undefined || entry === "invalid") return;
      const { snapshot } = entry;
      if (snapshot.kind !== "session" || !snapshot.toolList) return;
      const { toolList: _, ...cleared } = snapshot;
      // One that a pool has on the session knows the list.
      pool?.evict(slot, principal);
      hold(key, entry, cleared);
    },

    endIdle(principal, declared) {
      const time = now();
      const ending = keysOf(principal).filter(([key, { connection }]) => {
        if (visited.has(key) || !Object.hasOwn(declared, connection)) return false;
        visited.add(key);
        const entry = held.has(key) ? undefined : read(key);
        const isEnded = typeof entry === "object" && isIdle(entry, time);
        return isEnded && entry.snapshot.kind === "session";
      });
      const all = inParallel(ending, endedAtOnce, async ([key, slot]) => {
        const { snapshot } = parseNamedEntry(stateEntry(state, key))!;
        const { connection } = slot;
        const definition = declared[connection]!;
        if (snapshot.kind !== "session") return;
        if (new URL(definition.options.url).href !== snapshot.url) return;
        const outcome = await endMcpSession({ definition, connection, principal, snapshot, now });
        if (outcome.ended) return;
        const { ended: _, ...why } = outcome;
        emit({ type: "close-failed", ...slot, ...why });
      });
      for (const [key] of ending) {
        const entry = read(key) as NamedEntry;
        hold(key, entry, { version: 1, kind: "lost", url: entry.snapshot.url });
      }
      endings.add(all);
    },

    async endStep() {
      endedAt ??= now();
      await Promise.all(endings);
    },

    changes() {
      return [...held].flatMap(([key, own]) => {
        if (own === "removed") return [[key, undefined] as const];
        const entry = entryOf(own);
        return entry !== undefined || own.isKept ? [[key, entry] as const] : [];
      });
    },
  };
}
