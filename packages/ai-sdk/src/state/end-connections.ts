import { type Principal, principalParts } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import type { EndedSession, SessionSelection } from "../slots/session-reports.ts";
import { type CarriedEntry, selectEntries, type StateUse } from "./carried-entries.ts";
import { replaceEntries, stateEntry, stateKeys } from "./session-state.ts";
import { isWaitingKey } from "./waiting-in-state.ts";

/**
 * Ends, all at once, the sessions in a state: `end` of a provider. Entries without a session at the
 * connection's URL are removed, and nothing is sent for them.
 */
export async function endConnections<SESSION extends { state?: unknown }>(
  provider: StateUse & { readonly emit: (event: ConnectionEvent) => void },
  session: SESSION,
  selection: SessionSelection & { readonly timeoutMs?: number | undefined },
): Promise<{ session: SESSION; results: EndedSession[] }> {
  const { emit, now } = provider;
  const { principal, connection: only, name, timeoutMs } = selection;
  const endOne = async (entry: CarriedEntry) => {
    const { slot, definition, snapshot, isInvalid, isElsewhere, isNewer } = entry;
    if (isNewer) return { ...slot, ended: false, reason: "newer" as const };
    if (isInvalid) emit({ type: "discarded", ...slot, reason: "invalid" });
    if (isElsewhere) emit({ type: "discarded", ...slot, reason: "url" });
    if (snapshot?.kind !== "session" || isElsewhere) return undefined;
    const { connection } = slot;
    const use = { definition, connection, principal, timeoutMs, now };
    return { ...slot, ...(await endMcpSession({ ...use, snapshot })) };
  };
  const entries = selectEntries(provider, session.state, selection);
  const outcomes = await Promise.all(
    entries.map(async (entry) => ({ key: entry.key, result: await endOne(entry) })),
  );
  const over = outcomes.filter(({ result }) => result?.ended ?? true);
  // No waiting call has a session's name.
  const waiting = name === undefined ? waitingKeys(session.state, principal, only) : [];
  return {
    session: replaceEntries(
      session,
      [...over.map(({ key }) => key), ...waiting].map((key) => [key, undefined]),
    ),
    results: outcomes.flatMap(({ result }) => result ?? []),
  };
}

/** The keys of a principal's waiting calls; with `only` those of that connection. */
function waitingKeys(state: unknown, principal: Principal, only: string | undefined): string[] {
  const owner = JSON.stringify(principalParts(principal));
  return stateKeys(state).filter((key) => {
    if (!isWaitingKey(key, owner)) return false;
    const entry = stateEntry(state, key);
    return only === undefined || (isRecord(entry) && entry["connection"] === only);
  });
}
