import { inParallel } from "../base/in-parallel.ts";
import { endMcpSession, pingSession } from "../http/end-mcp-session.ts";
import { isLost } from "@durable-mcp/core/internal";
import { describeKept, lostSnapshot, withoutToolList } from "../slots/kept-session.ts";
import type {
  CarriedSession,
  EndedSession,
  SessionSelection,
  SessionStatus,
} from "../slots/session-reports.ts";
import { type CarriedEntry, selectEntries, type StateUse } from "./carried-entries.ts";
import { replaceEntries } from "./session-state.ts";

type InTime = SessionSelection & { readonly timeoutMs?: number | undefined };

/** Describes the sessions in a state: `info` of a provider. Sends nothing. */
export function describeCarried(
  provider: StateUse,
  session: { state?: unknown },
  selection: SessionSelection<any>,
): CarriedSession[] {
  return selectEntries(provider, session.state, selection).flatMap((entry) => {
    const { slot, snapshot, named, isInvalid, isNewer } = entry;
    if (isNewer) return [{ ...slot, kind: "newer" as const }];
    if (snapshot === undefined && !isInvalid) return [];
    const kept = snapshot && { snapshot, ...named };
    const { lastUsedAt: _, ...description } = describeKept(kept, 0);
    return [{ ...slot, ...description, ...(named && { lastUsedAt: named.lastUsedAt }) }];
  });
}

/** Pings the sessions in a state on their servers: `status` of a provider. */
export async function checkCarried(
  provider: StateUse,
  session: { state?: unknown },
  { timeoutMs = 5_000, ...selection }: InTime,
): Promise<SessionStatus[]> {
  const { principal } = selection;
  const entries = selectEntries(provider, session.state, selection).filter(isThere);
  return await inParallel(entries, async ({ slot, definition, snapshot }) => {
    const { connection } = slot;
    const use = { definition, connection, principal, snapshot, timeoutMs, now: provider.now };
    return { ...(await pingSession(use)), ...slot };
  });
}

/** Ends the sessions in a state, so that the next use starts others: `restart` of a provider. */
export async function restartCarried<SESSION extends { state?: unknown }>(
  provider: StateUse,
  session: SESSION,
  { timeoutMs, ...selection }: InTime,
): Promise<{ session: SESSION; results: EndedSession[] }> {
  const { principal } = selection;
  const entries = selectEntries(provider, session.state, selection).filter(isThere);
  const outcomes = await inParallel(entries, async (entry) => {
    const { slot, definition, snapshot, isElsewhere, isNewer } = entry;
    if (isNewer) return { result: { ...slot, ended: false, reason: "newer" as const } };
    if (snapshot !== undefined && snapshot.kind !== "session" && !isLost(snapshot)) {
      // There was no session, and so none is lost. The server is asked anew; a name stays, as in a store.
      const change = slot.name === undefined ? { change: [entry.key, undefined] as const } : {};
      return { ...change, result: { ...slot, ended: true } };
    }
    const lost = changedEntry(entry, lostSnapshot(snapshot ?? { url: entry.url }));
    if (snapshot?.kind !== "session") return { change: lost, result: { ...slot, ended: true } };
    if (isElsewhere)
      return { change: lost, result: { ...slot, ended: false, reason: "undeclared" as const } };
    const { connection } = slot;
    const use = { definition, connection, principal, snapshot, timeoutMs, now: provider.now };
    return { change: lost, result: { ...slot, ...(await endMcpSession(use)) } };
  });
  const changes = outcomes.flatMap(({ change }) => (change === undefined ? [] : [change]));
  return {
    session: replaceEntries(session, changes),
    results: outcomes.map(({ result }) => result),
  };
}

/** Forgets the tool lists in a state: `clearTools` of a provider. */
export function clearCarriedTools<SESSION extends { state?: unknown }>(
  provider: StateUse,
  session: SESSION,
  selection: SessionSelection<any>,
): SESSION {
  const changes = selectEntries(provider, session.state, selection).flatMap((entry) => {
    const cleared = entry.snapshot && withoutToolList(entry.snapshot);
    return cleared ? [changedEntry(entry, cleared)] : [];
  });
  return replaceEntries(session, changes);
}

/** Whether the state has an entry. */
function isThere({ snapshot, isInvalid, isNewer }: CarriedEntry): boolean {
  return snapshot !== undefined || isInvalid || isNewer;
}

/** An entry with another snapshot. A name stays. */
function changedEntry(
  { key, named, slot }: CarriedEntry,
  snapshot: NonNullable<CarriedEntry["snapshot"]>,
): readonly [key: string, entry: object] {
  if (slot.name === undefined) return [key, snapshot];
  const { startedAt: _, ...others } = named ?? { version: 1, lastUsedAt: 0 };
  return [key, { ...(snapshot.kind === "session" ? named : others), snapshot }];
}
