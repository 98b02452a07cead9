import type { SessionStore } from "@durable-mcp/core";
import { declareServer } from "../declare/define-connection.ts";
import type { EndMode } from "./kept-session.ts";
import type { EndedSession, StoredSession } from "./session-reports.ts";
import { endRecord, removeRecord } from "./end-record.ts";
import { describeRecord, type ListedRecord, parseRecord, parseRecordOwner } from "./slot-record.ts";

/** What an operator sees of a record. Holds no id of an MCP session. */
export interface InspectedRecord extends StoredSession {
  /** `null` for sessions that agents share. */
  readonly agent: string | null;
  /** The origins of the servers whose sessions it has. */
  readonly origins: readonly string[];
  /** How many more sessions it has, without a user, that are still to be ended. */
  readonly stillToEnd: number;
  /** Since when the server has refused both the session and a new one, in milliseconds since 1970-01-01 UTC. */
  readonly refusedSince?: number | undefined;
  /** Whether the session took the place of a lost one, and the model has not been told yet. */
  readonly replacesLost?: true | undefined;
}

/** Describes a record for an operator. */
export function inspectRecord(stored: ListedRecord): InspectedRecord {
  const { snapshot, ending = [] } = parseRecord(stored.value) ?? {};
  const session = snapshot?.kind === "session" ? snapshot : undefined;
  const { refusedSince, replacesLost } = session ?? {};
  const sessions = [...ending, ...(session ? [session] : [])];
  return {
    ...describeRecord(stored),
    agent: stored.of.agent,
    origins: [...new Set(sessions.map(({ url }) => new URL(url).origin))],
    stillToEnd: ending.length,
    ...(refusedSince !== undefined && { refusedSince }),
    ...(replacesLost && { replacesLost }),
  };
}

/**
 * Ends the sessions of a record on their server, for an operator without the application's definitions. As in a
 * definition, somebody has to name the servers: a session goes to no other origin than one of `origins`.
 *
 * @param use.mode `end` keeps the record for another attempt if the server could not be told, `sweep` for one more,
 *   `delete` for none
 * @param use.headers for the DELETE, such as `authorization`
 * @returns `undefined` if another process took care of the record meanwhile
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function endForOperator(
  store: SessionStore,
  stored: ListedRecord,
  use: {
    readonly mode: Extract<EndMode, "end" | "sweep" | "delete">;
    readonly origins: ReadonlySet<string>;
    readonly headers: Readonly<Record<string, string>>;
  },
): Promise<EndedSession | undefined> {
  const principal = parseRecordOwner(stored.owner);
  const record = parseRecord(stored.value);
  const session = record?.snapshot.kind === "session" ? record.snapshot : record?.ending?.[0];
  const isNamed = session !== undefined && use.origins.has(new URL(session.url).origin);
  if (principal === undefined || !isNamed) return await removeRecord(store, stored);
  const definition = declareServer({
    url: session.url,
    description: "A server that only the store knows.",
    session: "stateful",
    headers: use.headers,
  });
  const endUse = { definition, principal, mode: use.mode };
  return await endRecord({ store, now: Date.now }, stored.of, stored, endUse);
}
