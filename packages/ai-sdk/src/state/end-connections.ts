import { type Principal, sessionKey, type SessionSnapshot } from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { parseNamedEntry, parseNamedKey } from "./named-entry.ts";
import { removeSlots, seedSlot, stateEntry, stateKeys } from "./session-state.ts";
import type { EndedSession } from "../slots/session-reports.ts";
import type { SlotName } from "../slots/slot-name.ts";

/** One entry of the state. */
interface Target {
  readonly key: string;
  readonly slot: SlotName;
  readonly definition: McpClientConnection;
  readonly snapshot: SessionSnapshot | undefined;
  /** Whether the entry does not parse. */
  readonly isInvalid: boolean;
}

type Definitions = readonly (readonly [connection: string, definition: McpClientConnection])[];

/**
 * Ends, all at once, the sessions that a state holds for these connections of one principal. Entries
 * without a session at the connection's URL are removed, and nothing is sent for them.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
 */
export async function endConnections<SESSION extends { state?: unknown }>({
  session,
  definitions,
  principal,
  name,
  timeoutMs,
  emit,
  now,
}: {
  session: SESSION;
  definitions: Definitions;
  principal: Principal;
  /** The one named session. @default all, and those without a name */
  name: string | undefined;
  timeoutMs: number | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}): Promise<{ session: SESSION; results: EndedSession[] }> {
  const endOne = async ({ slot, definition, snapshot, isInvalid }: Target) => {
    if (isInvalid) emit({ type: "discarded", ...slot, reason: "invalid" });
    const isElsewhere = snapshot !== undefined && snapshot.url !== endpointOf(definition);
    if (isElsewhere) emit({ type: "discarded", ...slot, reason: "url" });
    if (snapshot?.kind !== "session" || isElsewhere) return undefined;
    const { connection } = slot;
    const use = { definition, connection, principal, timeoutMs, now };
    return { ...slot, ...(await endMcpSession({ ...use, snapshot })) };
  };
  const targets = targetsIn(session.state, definitions, principal).filter(
    ({ slot }) => name === undefined || slot.name === name,
  );
  const outcomes = await Promise.all(
    targets.map(async (target) => ({ key: target.key, result: await endOne(target) })),
  );
  const over = outcomes.filter(({ result }) => result?.ended ?? true);
  return {
    session: removeSlots(
      session,
      over.map(({ key }) => key),
    ),
    results: outcomes.flatMap(({ result }) => result ?? []),
  };
}

/** What a state may hold for these connections: their own sessions, and the named ones. */
function targetsIn(state: unknown, definitions: Definitions, principal: Principal): Target[] {
  const unnamed = definitions.map(([connection, definition]): Target => {
    const key = sessionKey({ connection, principal });
    const { slot, isDiscarded: isInvalid } = seedSlot(state, key);
    return { key, slot: { connection }, definition, snapshot: slot.snapshot, isInvalid };
  });
  const byConnection = new Map(definitions);
  const named = stateKeys(state).flatMap((key): Target[] => {
    const slot = parseNamedKey(key, principal);
    const definition = slot && byConnection.get(slot.connection);
    if (!definition) return [];
    const entry = parseNamedEntry(stateEntry(state, key));
    return [{ key, slot, definition, snapshot: entry?.snapshot, isInvalid: entry === undefined }];
  });
  return [...unnamed, ...named];
}
