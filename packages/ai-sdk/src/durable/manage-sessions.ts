import type { Principal, StoredRecord } from "@durable-mcp/core";
import { inParallel } from "../base/in-parallel.ts";
import {
  clientConnections,
  findDeclared,
  type McpConnection,
  notDeclared,
} from "../connection/mcp-connection.ts";
import { pingSession } from "../http/ping-session.ts";
import type { EndMode } from "../slots/kept-session.ts";
import { checkSessionName } from "../slots/slot-name.ts";
import type { EndedSession, StoredSession } from "../slots/session-reports.ts";
import type { DurableSessions, SessionSelection } from "./durable-sessions.ts";
import { endRecord } from "./end-record.ts";
import { forgetToolList, listAll } from "./stored-records.ts";
import {
  checkSessionId,
  describeRecord,
  parseRecord,
  parseRecordKey,
  recordKey,
  recordOwner,
  recordPrefix,
} from "./slot-record.ts";
import type { SessionsContext } from "./sessions-context.ts";

type Connections = Record<string, McpConnection>;

/** How many records of a principal are read at a time. */
const pageSize = 1_000;
/** How many sessions of a principal are worked on at a time. */
const atOnce = 10;

/** What is done with a principal's stored sessions outside of a step. */
export function createSessionsManagement<CONNECTIONS extends Connections>(
  context: SessionsContext<CONNECTIONS>,
): Pick<
  DurableSessions<CONNECTIONS>,
  "info" | "status" | "restart" | "clearTools" | "end" | "list" | "endAll"
> {
  const { store, agent, now } = context;
  const { declaredFor } = context.provider;

  return {
    async info(sessionId, selection) {
      return (await findRecords(context, sessionId, selection)).flatMap(describeRecord);
    },

    async status(sessionId, { timeoutMs = 5_000, ...selection }) {
      const { principal } = selection;
      const records = await findRecords(context, sessionId, selection);
      const declared = clientConnections(declaredFor(principal));
      return await inParallel(records, atOnce, async ({ key, value }) => {
        const { connection, name } = parseRecordKey(key)!;
        const definition = findDeclared(declared, connection);
        const snapshot = parseRecord(value)?.snapshot;
        const session = { definition, connection, principal, snapshot };
        const status = await pingSession({ ...session, timeoutMs, now });
        return { ...status, ...(name !== undefined && { name }) };
      });
    },

    async restart(sessionId, selection) {
      const records = await findRecords(context, sessionId, selection);
      return await endRecords(context, records, selection.principal, "restart");
    },

    async clearTools(sessionId, selection) {
      const records = await findRecords(context, sessionId, selection);
      const { principal } = selection;
      await inParallel(records, atOnce, async (stored) => {
        const key = recordKey(parseRecordKey(stored.key)!, principal);
        await forgetToolList({ store, key, stored, principal, now });
      });
    },

    async end(sessionId, selection) {
      const records = await findRecords(context, sessionId, selection);
      return await endRecords(context, records, selection.principal, "end");
    },

    async list({ principal, name, cursor, limit = 100 }) {
      if (name !== undefined) checkSessionName(name, "name");
      const query = { owner: recordOwner(principal), prefix: recordPrefix(agent), cursor, limit };
      const page = await store.list(query);
      const described = page.records.flatMap(describeRecord);
      const isSelected = (session: StoredSession) => name === undefined || session.name === name;
      return { sessions: described.filter(isSelected), cursor: page.cursor };
    },

    async endAll({ principal }) {
      const owner = recordOwner(principal);
      const results = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({ owner, cursor, limit: pageSize });
        const own = page.records.filter(({ key }) => parseRecordKey(key) !== undefined);
        results.push(...(await endRecords(context, own, principal, "delete")));
        ({ cursor } = page);
      } while (cursor !== undefined);
      return results;
    },
  };
}

/** The records of an agent session that a principal has. */
async function findRecords<CONNECTIONS extends Connections>(
  { store, agent, provider }: SessionsContext<CONNECTIONS>,
  sessionId: string,
  { principal, connection, name }: SessionSelection<CONNECTIONS>,
): Promise<StoredRecord[]> {
  checkSessionId(sessionId);
  if (name !== undefined) checkSessionName(name, "name");
  const owner = recordOwner(principal);
  const records = await listAll(store, { prefix: recordPrefix(agent, sessionId), owner });
  const selected = records.filter(({ key }) => {
    const found = parseRecordKey(key);
    if (found === undefined || (name !== undefined && found.name !== name)) return false;
    return connection === undefined || found.connection === connection;
  });
  if (connection !== undefined && selected.length === 0) {
    const declared = provider.declaredFor(principal);
    if (!Object.hasOwn(declared, connection)) {
      throw notDeclared(connection, Object.keys(declared), "connection");
    }
  }
  return selected;
}

async function endRecords<CONNECTIONS extends Connections>(
  { store, provider, now }: SessionsContext<CONNECTIONS>,
  records: readonly StoredRecord[],
  principal: Principal,
  mode: EndMode,
): Promise<EndedSession[]> {
  const declared = clientConnections(provider.declaredFor(principal));
  const ended = await inParallel(records, atOnce, async (stored) => {
    const { connection } = parseRecordKey(stored.key)!;
    const definition = findDeclared(declared, connection);
    return await endRecord({ store, stored, definition, principal, mode, now });
  });
  return ended.filter((result) => result !== undefined);
}
