import { createSessionSlot, type Principal } from "@durable-mcp/core";
import { inParallel } from "../base/in-parallel.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { findDeclared } from "../connection/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import {
  afterEnd,
  describeKept,
  lostSnapshot,
  overdueSession,
  planEnd,
  withoutToolList,
} from "../slots/kept-session.ts";
import type { NamedEnd, NamedSlots } from "../slots/named-slots.ts";
import type { EndedSession } from "../slots/session-reports.ts";
import type { NamedSlot } from "../slots/slot-name.ts";
import { createHeldEntries, type HeldEntries } from "./held-entries.ts";
import { type NamedEntry, namedKey } from "./named-entry.ts";

/** The named sessions in the state of an agent session. */
export interface NamedInState extends NamedSlots, Pick<HeldEntries, "changes"> {}

/** At most this many sessions are ended at a time. */
const endedAtOnce = 10;

interface NamedInStateOptions {
  /** Data from outside. */
  state: unknown;
  pool: SessionPool | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}

export function createNamedInState({ state, pool, emit, now }: NamedInStateOptions): NamedInState {
  const entries = createHeldEntries(state, now);
  const visited = new Set<string>();
  const endings = new Set<Promise<unknown>>();

  return {
    open(slot, { principal, definition, idleTimeoutMs }) {
      const key = namedKey(slot, principal);
      if (entries.read(key) === "invalid") emit({ type: "discarded", ...slot, reason: "invalid" });
      const entry = readValid(entries, key);
      const snapshot = entry?.snapshot;
      const use = {
        slot: pool
          ? pool.createSlot(slot, principal, definition, snapshot)
          : createSessionSlot(snapshot),
        startedAt: entry?.startedAt,
        idleTimeoutMs: idleTimeoutMs ?? entry?.idleTimeoutMs,
      };
      entries.use(key, use);
      return {
        slot: use.slot,
        onSession() {
          use.startedAt = now();
        },
      };
    },

    async list(principal) {
      return entries.of(principal).flatMap(([key, slot]) => {
        if (entries.read(key) === undefined) return [];
        const entry = readValid(entries, key);
        return [{ ...slot, ...describeKept(entry, entry?.lastUsedAt ?? 0) }];
      });
    },

    end: async (slot, use) => await endNamed(entries, slot, { ...use, now }),

    async clearTools(slot, principal) {
      const key = namedKey(slot, principal);
      const entry = readValid(entries, key);
      const cleared = entry && withoutToolList(entry.snapshot);
      if (!cleared) return;
      // A pooled client on the session knows the list.
      pool?.close(slot, principal);
      entries.keep(key, entry, cleared);
    },

    endIdle(principal, declared) {
      const idle = claimIdle(entries, { principal, declared, visited, now });
      const all = inParallel(idle, endedAtOnce, async ({ slot, ...session }) => {
        const { connection } = slot;
        const end = await endMcpSession({ ...session, connection, principal, now });
        if (end.ended) return;
        const { ended: _, ...why } = end;
        emit({ type: "close-failed", ...slot, ...why });
      });
      endings.add(all);
    },

    async endStep() {
      entries.endStep();
      await Promise.all(endings);
    },

    changes: () => entries.changes(),
  };
}

/** An entry that does not parse counts as none. */
function readValid(entries: HeldEntries, key: string): NamedEntry | undefined {
  const entry = entries.read(key);
  return entry === "invalid" ? undefined : entry;
}

async function endNamed(
  entries: HeldEntries,
  slot: NamedSlot,
  { principal, definition, mode, now }: NamedEnd & { now: () => number },
): Promise<EndedSession> {
  const key = namedKey(slot, principal);
  const entry = readValid(entries, key);
  const plan = planEnd(entry, { definition, mode, isNamed: true });
  const ended = { ...slot, ...plan.outcome };
  const [snapshot] = plan.sessions;
  if (entry === undefined || plan.act === "forget") {
    entries.remove(key);
    return ended;
  }
  if (snapshot === undefined) {
    entries.keep(key, entry, entry.snapshot);
    return ended;
  }
  const use = { definition: definition!, connection: slot.connection, principal, now };
  const end = await endMcpSession({ ...use, snapshot });
  const next = afterEnd(mode, { failed: !end.ended, wasTried: false });
  if (next === "forget") entries.remove(key);
  // A state cannot keep an old session to be ended beside the new one.
  else entries.keep(key, entry, mode === "restart" ? lostSnapshot(snapshot) : snapshot);
  return { ...ended, ...end };
}

/** The sessions to end. Their entries lose them at once, so that no run of the step goes on in one. */
function claimIdle(
  entries: HeldEntries,
  {
    principal,
    declared,
    visited,
    now,
  }: {
    principal: Principal;
    declared: Readonly<Record<string, McpClientConnection>>;
    /** The keys that the step has looked at. */
    visited: Set<string>;
    now: () => number;
  },
) {
  const time = now();
  return entries.of(principal).flatMap(([key, slot]) => {
    const definition = findDeclared(declared, slot.connection);
    if (definition === undefined || visited.has(key)) return [];
    visited.add(key);
    const entry = entries.has(key) ? undefined : readValid(entries, key);
    const snapshot = entry && overdueSession(entry, entry.lastUsedAt, definition, time);
    if (!snapshot) return [];
    entries.keep(key, entry, lostSnapshot(snapshot));
    return [{ slot, definition, snapshot }];
  });
}
