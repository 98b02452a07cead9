import { type Principal, sessionKey, type SessionSnapshot } from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { parseNamedEntry, parseNamedKey } from "./named-entry.ts";
import { removeSlots, seedSlot, stateEntry, stateKeys } from "./session-state.ts";
import type { EndedSession } from "../slots/session-reports.ts";
import type { SlotName } from "../slots/slot-name.ts";

/** One session that the state may hold. */
interface Target {
  readonly key: string;
  readonly slot: SlotName;
  readonly definition: McpClientConnection;
  readonly snapshot: SessionSnapshot | undefined;
  readonly isDiscarded: boolean;
}

/**
 * Ends, all at once, the sessions that a state holds for these connections of one principal. What
 * holds no session that could be ended there is removed, and nothing is sent.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
 */
export async function endConnections<SESSION extends { state?: unknown }>({
  session,
  definitions,
  principal,
  name: onlyName,
  timeoutMs,
  emit,
  now,
}: {
  session: SESSION;
  definitions: readonly (readonly [connection: string, definition: McpClientConnection])[];
  principal: Principal;
  /** The one named session. @default all, and those without a name */
  name: string | undefined;
  timeoutMs: number | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}): Promise<{ session: SESSION; results: EndedSession[] }> {
  const byConnection = new Map(definitions);
  const { state } = session;
  const named = stateKeys(state).flatMap((key): Target[] => {
    const slot = parseNamedKey(key, principal);
    const definition = slot && byConnection.get(slot.connection);
    if (!definition) return [];
    const entry = parseNamedEntry(stateEntry(state, key));
    return [{ key, slot, definition, snapshot: entry?.snapshot, isDiscarded: entry === undefined }];
  });
  const unnamed = definitions.map(([connection, definition]): Target => {
    const key = sessionKey({ connection, principal });
    const { slot, isDiscarded } = seedSlot(state, key);
    return { key, slot: { connection }, definition, snapshot: slot.snapshot, isDiscarded };
  });
  const targets =
    onlyName === undefined
      ? [...unnamed, ...named]
      : named.filter(({ slot }) => slot.name === onlyName);
  const attempts = targets.map(async ({ key, slot, definition, snapshot, isDiscarded }) => {
    const { connection, name } = slot;
    const url = new URL(definition.options.url);
    if (isDiscarded) emit({ type: "discarded", ...slot, reason: "invalid" });
    const isElsewhere = snapshot !== undefined && snapshot.url !== url.href;
    if (isElsewhere) emit({ type: "discarded", ...slot, reason: "url" });
    if (snapshot?.kind !== "session" || isElsewhere) return { key };

    const outcome = await endMcpSession({
      definition,
      connection,
      principal,
      snapshot,
      timeoutMs,
      now,
    });
    const result: EndedSession = { connection, ...(name !== undefined && { name }), ...outcome };
    return { key, result };
  });
  const outcomes = await Promise.all(attempts);
  const isOver = ({ result }: (typeof outcomes)[number]) => result?.ended ?? true;
  return {
    session: removeSlots(
      session,
      outcomes.filter(isOver).map(({ key }) => key),
    ),
    results: outcomes.flatMap(({ result }) => result ?? []),
  };
}
