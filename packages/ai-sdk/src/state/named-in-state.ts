import { createSessionSlot, type Principal } from "@durable-mcp/core";
import { inParallel } from "../base/in-parallel.ts";
import { type Track, trackWork } from "../base/open-work.ts";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import { findDeclared } from "../connection/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import {
  afterEnd,
  describeKept,
  lostSnapshot,
  overdueSession,
  planEnd,
  withoutToolList,
} from "../slots/kept-session.ts";
import type { NamedSlots } from "../slots/named-slots.ts";
import { beginSession } from "../slots/begin-session.ts";
import { createHeldEntries, type HeldEntries, namedKey } from "./named-entry.ts";
import { throwIfNewer } from "./session-state.ts";

/** The named sessions in the state of an agent session. */
export interface NamedInState extends NamedSlots, Pick<HeldEntries, "changes"> {}

/**
 * @param state data from outside
 * @param track lets the provider's end wait for work
 */
// oxlint-disable-next-line max-lines-per-function -- the slots of one state, a function for each thing done with them
export function createNamedInState(
  state: unknown,
  emit: (event: ConnectionEvent) => void,
  now: () => number,
  track: Track,
): NamedInState {
  const entries = createHeldEntries(state, now);
  const visited = new Set<string>();

  const named: NamedInState = {
    keepsShared: false,

    open({ connection, name = "" }, { principal, definition, idleTimeoutMs }) {
      const slot = { connection, name };
      const key = namedKey(slot, principal);
      if (entries.isNewer(key)) throwIfNewer(state, key, slot.connection);
      const isDiscarded = entries.isInvalid(key);
      if (isDiscarded) emit({ type: "discarded", ...slot, reason: "invalid" });
      const entry = entries.read(key);
      const url = endpointOf(definition);
      const kept = isDiscarded ? lostSnapshot({ url }) : entry?.snapshot;
      const { snapshot, outdated } = beginSession(definition, kept, now(), entry?.startedAt);
      const use = {
        slot: createSessionSlot(snapshot),
        entry,
        outdated,
        startedAt: entry?.startedAt,
        idleTimeoutMs: idleTimeoutMs ?? entry?.idleTimeoutMs,
      };
      entries.use(key, use);
      return {
        slot: use.slot,
        outdated,
        onSession() {
          use.startedAt = now();
        },
      };
    },

    list: async (principal) =>
      entries.of(principal).map(({ key, slot, entry }) => {
        if (entries.isNewer(key)) return { ...slot, kind: "newer", lastUsedAt: 0 };
        return { ...slot, ...describeKept(entry, entry?.lastUsedAt ?? 0) };
      }),

    async end(slot, { principal, definition, mode }) {
      const key = namedKey(slot, principal);
      if (entries.isNewer(key)) return { ...slot, ended: false, reason: "newer" };
      const entry = entries.read(key);
      const plan = planEnd(entry, { definition, mode, isNamed: true });
      const [snapshot] = plan.sessions;
      const use = { definition: definition!, connection: slot.connection, principal, now };
      const end = snapshot && (await endMcpSession({ ...use, snapshot }));
      const next = end ? afterEnd(mode, { failed: !end.ended, wasTried: false }) : plan.act;
      if (entry === undefined || next === "forget") entries.remove(key);
      // A state cannot keep an old session to be ended beside the new one.
      else if (end && mode === "restart") entries.keep(key, entry, lostSnapshot(entry.snapshot));
      else entries.keep(key, entry, entry.snapshot);
      return { ...slot, ...plan.outcome, ...end };
    },

    async clearTools(slot, principal) {
      const key = namedKey(slot, principal);
      const entry = entries.read(key);
      const cleared = entry && withoutToolList(entry.snapshot);
      if (!cleared) return;
      entries.keep(key, entry, cleared);
    },

    beginStep: (principal, declared) => named.endIdle(principal, declared),

    endIdle(principal, declared) {
      const idle = claimIdle({ entries, visited, now }, principal, declared);
      const all = inParallel(idle, async ({ slot, ...session }) => {
        const { connection } = slot;
        const end = await endMcpSession({ ...session, connection, principal, now });
        if (end.ended) return;
        const { ended: _, ...why } = end;
        emit({ type: "close-failed", ...slot, ...why });
      });
      trackWork(all, track);
    },

    endStep: () => entries.endStep(),

    changes: entries.changes,
  };
  return named;
}

/**
 * The sessions to end. Their entries lose them at once, so that no run of the step goes on in one.
 *
 * @param step.visited the keys that the step has looked at
 */
function claimIdle(
  { entries, visited, now }: { entries: HeldEntries; visited: Set<string>; now: () => number },
  principal: Principal,
  declared: Readonly<Record<string, McpClientConnection>>,
) {
  const time = now();
  return entries.of(principal).flatMap(({ key, slot, entry }) => {
    const definition = findDeclared(declared, slot.connection);
    if (definition === undefined || visited.has(key)) return [];
    visited.add(key);
    if (entry === undefined || entries.has(key)) return [];
    const snapshot = overdueSession(entry, entry.lastUsedAt, definition, time);
    if (!snapshot) return [];
    entries.keep(key, entry, lostSnapshot(snapshot));
    return [{ slot, definition, snapshot }];
  });
}
