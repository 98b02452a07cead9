import { type Principal, sessionKey, type SessionSnapshot } from "@durable-mcp/core";
import { checkSessionName } from "../base/session-name.ts";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import {
  clientConnections,
  type Connections,
  findDeclared,
  notDeclared,
} from "../connection/mcp-connection.ts";
import { isNewerEntry } from "../slots/kept-session.ts";
import type { SessionSelection } from "../slots/session-reports.ts";
import type { SlotName } from "../slots/step-slot.ts";
import { type NamedEntry, parseNamedEntry, parseNamedKey } from "./named-entry.ts";
import { parseOrNothing, stateEntry, stateKeys } from "./session-state.ts";

/** The parts of a provider for sessions in a state. */
export interface StateUse {
  readonly declaredFor: (principal: Principal) => Connections;
  readonly now: () => number;
}

/** An entry that a state has, or may have, for a session of a declared connection. */
export interface CarriedEntry {
  readonly key: string;
  readonly slot: SlotName;
  readonly definition: McpClientConnection;
  /** The URL of the definition. */
  readonly url: string;
  readonly snapshot: SessionSnapshot | undefined;
  /** The rest of a named session's entry. */
  readonly named: NamedEntry | undefined;
  /** Whether the entry does not parse. */
  readonly isInvalid: boolean;
  /** Whether the entry is of another URL than the connection's. */
  readonly isElsewhere: boolean;
  /** Whether a later release wrote the entry. */
  readonly isNewer: boolean;
}

/**
 * The entries of a selection in a state, data from outside.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID`
 */
export function selectEntries(
  { declaredFor }: Pick<StateUse, "declaredFor">,
  state: unknown,
  { principal, connection: only, name }: SessionSelection,
): CarriedEntry[] {
  // Even if there is nothing to find, because a missing principal is a mistake in the program.
  sessionKey({ connection: "any", principal });
  const declared = declaredFor(principal);
  if (only !== undefined && !Object.hasOwn(declared, only)) {
    throw notDeclared(only, Object.keys(declared), "connection");
  }
  if (name !== undefined) checkSessionName(name, "name");
  return entriesIn(state, clientConnections(declared), principal).filter(
    ({ slot }) =>
      (only === undefined || slot.connection === only) &&
      (name === undefined || slot.name === name),
  );
}

type ParseEntry = (value: unknown) => Pick<CarriedEntry, "snapshot" | "named">;

const parseUnnamed: ParseEntry = (value) => ({
  snapshot: parseOrNothing(value),
  named: undefined,
});

const parseNamed: ParseEntry = (value) => {
  const entry = parseNamedEntry(value);
  return { snapshot: entry?.snapshot, named: entry };
};

/** The entries that a state may have for these connections: their own sessions, and the named ones. */
function entriesIn(
  state: unknown,
  declared: Record<string, McpClientConnection>,
  principal: Principal,
): CarriedEntry[] {
  const entryOf = (
    key: string,
    slot: SlotName,
    definition: McpClientConnection,
    parse: ParseEntry,
  ): CarriedEntry => {
    const value = stateEntry(state, key);
    const { snapshot, named } = parse(value);
    const url = endpointOf(definition);
    const isInvalid = value !== undefined && snapshot === undefined;
    const isElsewhere = snapshot !== undefined && snapshot.url !== url;
    const isNewer = isNewerEntry(value);
    return { key, slot, definition, url, snapshot, named, isInvalid, isElsewhere, isNewer };
  };
  const unnamed = Object.entries(declared).map(([connection, definition]) => {
    const key = sessionKey({ connection, principal });
    return entryOf(key, { connection }, definition, parseUnnamed);
  });
  const named = stateKeys(state).flatMap((key): CarriedEntry[] => {
    const slot = parseNamedKey(key, principal);
    const definition = slot && findDeclared(declared, slot.connection);
    if (!definition) return [];
    return [entryOf(key, slot, definition, parseNamed)];
  });
  return [...unnamed, ...named];
}
