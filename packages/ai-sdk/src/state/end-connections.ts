import { type Principal, sessionKey, type SessionSnapshot } from "@durable-mcp/core";
import { checkSessionName } from "../base/session-name.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import {
  clientConnections,
  type Connections,
  findDeclared,
  notDeclared,
} from "../connection/mcp-connection.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { parseNamedEntry, parseNamedKey } from "./named-entry.ts";
import { parseOrNothing, replaceEntries, stateEntry, stateKeys } from "./session-state.ts";
import { isNewerEntry } from "../slots/kept-session.ts";
import type { EndedSession, SessionSelection } from "../slots/session-reports.ts";
import type { SlotName } from "../slots/step-slot.ts";

/** One entry of the state. */
interface Target {
  readonly key: string;
  readonly slot: SlotName;
  readonly definition: McpClientConnection;
  readonly snapshot: SessionSnapshot | undefined;
  /** Whether the entry does not parse. */
  readonly isInvalid: boolean;
  /** Whether a later release wrote the entry. */
  readonly isNewer: boolean;
}

/**
 * Ends, all at once, the sessions in a state: `end` of a provider. Entries without a session at the
 * connection's URL are removed, and nothing is sent for them.
 */
export async function endConnections<SESSION extends { state?: unknown }>(
  provider: {
    declaredFor: (principal: Principal) => Connections;
    emit: (event: ConnectionEvent) => void;
    now: () => number;
  },
  session: SESSION,
  selection: SessionSelection & { readonly timeoutMs?: number | undefined },
): Promise<{ session: SESSION; results: EndedSession[] }> {
  const { declaredFor, emit, now } = provider;
  const { principal, connection: only, name, timeoutMs } = selection;
  // Even if there is nothing to end, because a missing principal is a mistake in the program.
  sessionKey({ connection: "any", principal });
  const declared = declaredFor(principal);
  if (only !== undefined && !Object.hasOwn(declared, only)) {
    throw notDeclared(only, Object.keys(declared), "connection");
  }
  if (name !== undefined) checkSessionName(name, "name");

  const endOne = async ({ slot, definition, snapshot, isInvalid, isNewer }: Target) => {
    if (isNewer) return { ...slot, ended: false, reason: "newer" as const };
    if (isInvalid) emit({ type: "discarded", ...slot, reason: "invalid" });
    const isElsewhere = snapshot !== undefined && snapshot.url !== endpointOf(definition);
    if (isElsewhere) emit({ type: "discarded", ...slot, reason: "url" });
    if (snapshot?.kind !== "session" || isElsewhere) return undefined;
    const { connection } = slot;
    const use = { definition, connection, principal, timeoutMs, now };
    return { ...slot, ...(await endMcpSession({ ...use, snapshot })) };
  };
  const targets = targetsIn(session.state, clientConnections(declared), principal).filter(
    ({ slot }) =>
      (only === undefined || slot.connection === only) &&
      (name === undefined || slot.name === name),
  );
  const outcomes = await Promise.all(
    targets.map(async (target) => ({ key: target.key, result: await endOne(target) })),
  );
  const over = outcomes.filter(({ result }) => result?.ended ?? true);
  return {
    session: replaceEntries(
      session,
      over.map(({ key }) => [key, undefined]),
    ),
    results: outcomes.flatMap(({ result }) => result ?? []),
  };
}

/** The entries that a state may have for these connections: their own sessions, and the named ones. */
function targetsIn(
  state: unknown,
  declared: Record<string, McpClientConnection>,
  principal: Principal,
): Target[] {
  const unnamed = Object.entries(declared).map(([connection, definition]): Target => {
    const key = sessionKey({ connection, principal });
    const entry = stateEntry(state, key);
    const snapshot = parseOrNothing(entry);
    const isInvalid = entry !== undefined && snapshot === undefined;
    const isNewer = isNewerEntry(entry);
    return { key, slot: { connection }, definition, snapshot, isInvalid, isNewer };
  });
  const named = stateKeys(state).flatMap((key): Target[] => {
    const slot = parseNamedKey(key, principal);
    const definition = slot && findDeclared(declared, slot.connection);
    if (!definition) return [];
    const value = stateEntry(state, key);
    const entry = parseNamedEntry(value);
    const [isInvalid, isNewer] = [entry === undefined, isNewerEntry(value)];
    return [{ key, slot, definition, snapshot: entry?.snapshot, isInvalid, isNewer }];
  });
  return [...unnamed, ...named];
}
