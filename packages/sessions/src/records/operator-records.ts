import type { SessionStore } from "@durable-mcp/core";
import { deleteUnusedCalls, type ListedCall } from "../waiting/waiting-records.ts";
import { loadWaiting } from "../waiting/stored-calls.ts";
import { declareServer } from "../declare/define-connection.ts";
import { createBoundedStore } from "./bounded-store.ts";
import type { EndMode } from "./kept-session.ts";
import { listRecords } from "./stored-records.ts";
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

/** How long an operation of a store may take, in milliseconds. */
const storeTimeoutMs = 30_000;
/** The most that is listed at a time. */
const pageSize = 200;

/** What an operator's program does with the records of a store, whosever they are. */
export function operateStore(store: SessionStore) {
  return {
    /** The records whose keys begin so, with what they say. Sign-ins are only counted. */
    async list(prefix: string | undefined) {
      const sessions: (ListedRecord & { readonly details: InspectedRecord })[] = [];
      const calls: ListedCall[] = [];
      let signIns = 0;
      let cursor: string | undefined;
      do {
        const page = await listRecords(store, { prefix, cursor, limit: pageSize });
        sessions.push(...page.records.map((each) => ({ ...each, details: inspectRecord(each) })));
        calls.push(...page.waiting);
        signIns += page.grants.length;
        ({ cursor } = page);
      } while (cursor !== undefined);
      return { sessions, calls, signIns };
    },
    /** All open calls that can be read, with their keys, and how many cannot. */
    async openCalls() {
      const { openCalls } = await loadWaiting();
      // It reads many at once.
      const bounded = createBoundedStore(store, storeTimeoutMs, Date.now);
      return await openCalls.list(bounded, {}, { limit: Number.POSITIVE_INFINITY });
    },
    /** Ends the sessions of a record, or only removes it. @param access `undefined` to tell no server */
    end: async (
      stored: ListedRecord,
      mode: "end" | "sweep",
      access: ServerAccess | undefined,
    ): Promise<EndedSession | undefined> =>
      access === undefined
        ? await removeRecord(store, stored)
        : await endForOperator(store, stored, { mode, ...access }),
    /** Deletes calls that nobody has used since they were listed. @returns how many */
    deleteUnusedCalls: async (calls: readonly ListedCall[]) =>
      await deleteUnusedCalls(store, calls),
  };
}

/** How an operator's program reaches servers. */
interface ServerAccess {
  readonly origins: ReadonlySet<string>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Describes a record for an operator. */
function inspectRecord(stored: ListedRecord): InspectedRecord {
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
 * @param use.mode `end` keeps the record for another attempt if the server could not be told, `sweep` for one more
 * @param use.headers for the DELETE, such as `authorization`
 * @returns `undefined` if another process took care of the record meanwhile
 * @throws {McpSessionError} `STORE_FAILED`
 */
async function endForOperator(
  store: SessionStore,
  stored: ListedRecord,
  use: ServerAccess & { readonly mode: Extract<EndMode, "end" | "sweep"> },
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
