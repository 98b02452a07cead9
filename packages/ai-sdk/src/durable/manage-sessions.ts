import type { Principal } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { clientConnections, findDeclared, notDeclared } from "../connection/mcp-connection.ts";
import { pingSession } from "../http/end-mcp-session.ts";
import type { EndMode } from "../slots/kept-session.ts";
import type { EndedSession, SessionSelection } from "../slots/session-reports.ts";
import type { DurableSessions } from "./durable-sessions.ts";
import { endRecord } from "./end-record.ts";
import { selectionInTimeSchema } from "../provider/option-schemas.ts";
import { endAllSchema, listSchema, selectionSchema } from "./option-schemas.ts";
import { forgetToolList, listAll, listRecords } from "./stored-records.ts";
import {
  checkSessionId,
  describeRecord,
  type ListedRecord,
  parseRecord,
  recordOwner,
  recordPrefix,
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
    const records = await findSelected(context, sessionId, selection);
    return await endRecords(context, records, selection.principal, mode);
  };

  return {
    async info(sessionId, selection) {
      return (await findSelected(context, sessionId, selection)).map(describeRecord);
    },

    async status(sessionId, options) {
      const { timeoutMs = 5_000, ...selection } = checkOptions(selectionInTimeSchema, options);
      const { principal } = selection;
      const records = await findRecords(context, sessionId, selection);
      const declared = clientConnections(provider.declaredFor(principal));
      return await inParallel(records, async ({ of: { connection, name }, value }) => {
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
      const records = await findSelected(context, sessionId, selection);
      await inParallel(records, async (stored) => {
        await forgetToolList(context, stored.of, stored, selection.principal);
      });
    },

    async list(query) {
      const { principal, name, cursor, limit = 100 } = checkOptions(listSchema, query);
      const ofAgent = { owner: recordOwner(principal), prefix: recordPrefix(agent) };
      const page = await listRecords(store, { ...ofAgent, name, cursor, limit });
      return { sessions: page.records.map(describeRecord), cursor: page.cursor };
    },

    async endAll(query) {
      const { principal } = checkOptions(endAllSchema, query);
      const records = await listAll(store, { owner: recordOwner(principal) });
      return await endRecords(context, records, principal, "delete");
    },
  };
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for a selection that is none */
async function findSelected(
  context: SessionsContext,
  sessionId: string,
  selection: SessionSelection,
): Promise<ListedRecord[]> {
  return await findRecords(context, sessionId, checkOptions(selectionSchema, selection));
}

/** The records of an agent session that a principal has. */
async function findRecords(
  { store, agent, provider }: SessionsContext,
  sessionId: string,
  { principal, connection, name }: SessionSelection,
): Promise<ListedRecord[]> {
  checkSessionId(sessionId);
  const owner = recordOwner(principal);
  const records = await listAll(store, { prefix: recordPrefix(agent, sessionId), owner, name });
  const selected = records.filter(
    ({ of }) => connection === undefined || of.connection === connection,
  );
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
  records: readonly ListedRecord[],
  principal: Principal,
  mode: EndMode,
): Promise<EndedSession[]> {
  const declared = clientConnections(context.provider.declaredFor(principal));
  const ended = await inParallel(records, async (stored) => {
    const definition = findDeclared(declared, stored.of.connection);
    return await endRecord(context, stored.of, stored, { definition, principal, mode });
  });
  return ended.filter((result) => result !== undefined);
}
