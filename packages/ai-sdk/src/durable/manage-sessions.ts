import type { Principal, StoredRecord } from "@durable-mcp/core";
import { inParallel } from "../base/in-parallel.ts";
import { clientConnections, findDeclared, notDeclared } from "../connection/mcp-connection.ts";
import { pingSession } from "../http/end-mcp-session.ts";
import type { EndMode } from "../slots/kept-session.ts";
import type { EndedSession, SessionSelection } from "../slots/session-reports.ts";
import type { DurableSessions } from "./durable-sessions.ts";
import { endRecord } from "./end-record.ts";
import { forgetToolList, listAll } from "./stored-records.ts";
import {
  checkSessionId,
  describeRecord,
  parseRecord,
  parseRecordKey,
  recordOwner,
  recordPrefix,
  selectName,
} from "./slot-record.ts";
import type { SessionsContext } from "./sessions-context.ts";

/** The uses of a principal's stored sessions outside of a step. */
export function createSessionsManagement(
  context: SessionsContext,
): Pick<
  DurableSessions<any>,
  "info" | "status" | "restart" | "clearTools" | "end" | "list" | "endAll"
> {
  const { store, agent, provider, now } = context;
  const endFound = (mode: EndMode) => async (sessionId: string, selection: SessionSelection) => {
    const records = await findRecords(context, sessionId, selection);
    return await endRecords(context, records, selection.principal, mode);
  };

  return {
    async info(sessionId, selection) {
      return (await findRecords(context, sessionId, selection)).flatMap(describeRecord);
    },

    async status(sessionId, { timeoutMs = 5_000, ...selection }) {
      const { principal } = selection;
      const records = await findRecords(context, sessionId, selection);
      const declared = clientConnections(provider.declaredFor(principal));
      return await inParallel(records, async ({ key, value }) => {
        const { connection, name } = parseRecordKey(key)!;
        const definition = findDeclared(declared, connection);
        const snapshot = parseRecord(value)?.snapshot;
        const session = { definition, connection, principal, snapshot };
        const status = await pingSession({ ...session, timeoutMs, now });
        return { ...status, ...(name !== undefined && { name }) };
      });
    },

    restart: endFound("restart"),
    end: endFound("end"),

    async clearTools(sessionId, selection) {
      const records = await findRecords(context, sessionId, selection);
      await inParallel(records, async (stored) => {
        const name = parseRecordKey(stored.key)!;
        await forgetToolList(context, name, stored, selection.principal);
      });
    },

    async list({ principal, name, cursor, limit = 100 }) {
      const isSelected = selectName(name);
      const query = { owner: recordOwner(principal), prefix: recordPrefix(agent), cursor, limit };
      const page = await store.list(query);
      const sessions = page.records.filter(isSelected).flatMap(describeRecord);
      return { sessions, cursor: page.cursor };
    },

    async endAll({ principal }) {
      const records = await listAll(store, { owner: recordOwner(principal) });
      const own = records.filter(({ key }) => parseRecordKey(key) !== undefined);
      return await endRecords(context, own, principal, "delete");
    },
  };
}

/** The records of an agent session that a principal has. */
async function findRecords(
  { store, agent, provider }: SessionsContext,
  sessionId: string,
  { principal, connection, name }: SessionSelection,
): Promise<StoredRecord[]> {
  checkSessionId(sessionId);
  const isSelected = selectName(name);
  const owner = recordOwner(principal);
  const records = await listAll(store, { prefix: recordPrefix(agent, sessionId), owner });
  const selected = records.filter((record) => {
    const found = parseRecordKey(record.key);
    const isOfConnection = connection === undefined || found?.connection === connection;
    return found !== undefined && isOfConnection && isSelected(record);
  });
  if (connection !== undefined && selected.length === 0) {
    const declared = provider.declaredFor(principal);
    if (!Object.hasOwn(declared, connection)) {
      throw notDeclared(connection, Object.keys(declared), "connection");
    }
  }
  return selected;
}

async function endRecords(
  context: SessionsContext,
  records: readonly StoredRecord[],
  principal: Principal,
  mode: EndMode,
): Promise<EndedSession[]> {
  const declared = clientConnections(context.provider.declaredFor(principal));
  const ended = await inParallel(records, async (stored) => {
    const name = parseRecordKey(stored.key)!;
    const definition = findDeclared(declared, name.connection);
    return await endRecord(context, name, stored, { definition, principal, mode });
  });
  return ended.filter((result) => result !== undefined);
}
