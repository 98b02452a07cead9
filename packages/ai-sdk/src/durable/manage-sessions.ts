import type { Principal } from "@durable-mcp/core";
import type * as z from "zod/mini";
import { checkOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { checkSessionName } from "../base/session-name.ts";
import { clientConnections, findDeclared, notDeclared } from "../connection/mcp-connection.ts";
import { pingSession } from "../http/end-mcp-session.ts";
import { endProcesses } from "../pool/pooled-processes.ts";
import { selectionInTimeSchema, selectionSchema } from "../provider/option-schemas.ts";
import type { EndMode } from "../slots/kept-session.ts";
import type {
  EndedSession,
  SessionListQuery,
  SessionPage,
  SessionSelection,
  StoredSession,
} from "../slots/session-reports.ts";
import type { SlotName } from "../slots/step-slot.ts";
import type { DurableSessions, SharedSessions } from "./durable-sessions.ts";
import { endRecord } from "./end-record.ts";
import {
  endAllSchema,
  listSchema,
  sharedInTimeSchema,
  sharedListSchema,
  sharedSelectionSchema,
} from "./option-schemas.ts";
import { type FoundRecords, forgetToolList, listAll, listRecords } from "./stored-records.ts";
import {
  checkSessionId,
  describeRecord,
  type ListedRecord,
  parseRecord,
  recordOwner,
  recordPrefix,
} from "./slot-record.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { forgetGrants } from "./grant-records.ts";
import { deleteCalls, isCallOf } from "../waiting/waiting-records.ts";

/** The uses of a principal's stored sessions outside of a step. */
export function createSessionsManagement(
  context: SessionsContext,
): Pick<
  DurableSessions<any>,
  "info" | "status" | "restart" | "clearTools" | "end" | "list" | "endAll" | "shared"
> {
  const { store, agent } = context;
  return {
    ...createUses(context, {
      schema: selectionSchema,
      inTimeSchema: selectionInTimeSchema,
      find: async (sessionId, selection) => {
        checkSessionId(sessionId);
        return await findRecords(context, recordPrefix(agent, sessionId), selection);
      },
      endKept: async (sessionId, ...use) => await endKept(context, [agent, sessionId], ...use),
    }),
    list: async (query) =>
      await listPage(context, recordPrefix(agent), checkOptions(listSchema, query)),
    shared: {
      ...createUses(context, {
        schema: sharedSelectionSchema,
        inTimeSchema: sharedInTimeSchema,
        find: async (id, selection) => {
          checkSessionName(id, "id");
          const { records } = await findRecords(context, recordPrefix(agent, null), selection);
          return { records: records.filter(({ of }) => of.shared === id), waiting: [] };
        },
        // No stdio server is shared.
        endKept: async () => [],
      }),
      list: async (query) =>
        await listPage(context, recordPrefix(agent, null), checkOptions(sharedListSchema, query)),
    },

    async endAll(query) {
      const { principal } = checkOptions(endAllSchema, query);
      const { records, waiting, grants } = await listAll(store, { owner: recordOwner(principal) });
      const [ended, processes] = await Promise.all([
        endRecords(context, records, principal, "delete"),
        endKept(context, [], { principal }, "end"),
        deleteCalls(context, waiting, principal),
      ]);
      // Not before: the end of a session on its server needs a token.
      await forgetGrants(context, grants, principal);
      return [...ended, ...processes];
    },
  };
}

/** How stored sessions are selected. */
interface SelectedBy {
  readonly schema: z.ZodMiniType;
  /** The same, with a time limit. */
  readonly inTimeSchema: z.ZodMiniType;
  /** @param id the agent session's, or the shared session's */
  readonly find: (id: string, selection: SessionSelection) => Promise<Omit<FoundRecords, "grants">>;
  /** Ends what only the pool has. */
  readonly endKept: (
    id: string,
    selection: SessionSelection,
    mode: "restart" | "end",
  ) => Promise<EndedSession[]>;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for a selection that is none */
function createUses(
  context: SessionsContext,
  { schema, inTimeSchema, find, endKept: endKeptOf }: SelectedBy,
): Omit<SharedSessions<any>, "list"> {
  const { provider, now } = context;
  const findSelected = async (id: string, selection: SessionSelection) =>
    await find(id, checkOptions(schema, selection));
  const endFound = (mode: "restart" | "end") => async (id: string, selection: SessionSelection) => {
    const { principal } = checkOptions(schema, selection);
    const { records, waiting } = await findSelected(id, selection);
    const [ended, kept] = await Promise.all([
      endRecords(context, records, principal, mode),
      endKeptOf(id, selection, mode),
      mode === "end" && deleteCalls(context, waiting, principal),
    ]);
    return [...ended, ...kept];
  };

  return {
    async info(id, selection) {
      const { records } = await findSelected(id, selection);
      return records.map(describeRecord);
    },

    async status(id, options) {
      const { timeoutMs = 5_000, ...selection } = checkOptions(inTimeSchema, options);
      const { principal } = selection;
      const { records } = await find(id, selection);
      const declared = clientConnections(provider.declaredFor(principal));
      return await inParallel(records, async ({ of, value }) => {
        const { connection, name, shared } = of;
        const definition = findDeclared(declared, connection);
        const snapshot = parseRecord(value)?.snapshot;
        const session = { definition, connection, principal, snapshot };
        const status = await pingSession({ ...session, timeoutMs, now });
        const named = name === undefined ? {} : { name };
        return { ...status, ...named, ...(shared !== undefined && { shared }) };
      });
    },

    restart: endFound("restart"),
    end: endFound("end"),

    async clearTools(id, selection) {
      const { records } = await findSelected(id, selection);
      await inParallel(records, async (stored) => {
        await forgetToolList(context, stored.of, stored, selection.principal);
      });
    },
  };
}

async function listPage(
  { store }: SessionsContext,
  prefix: string,
  query: SessionListQuery & { readonly principal: Principal },
): Promise<SessionPage<StoredSession>> {
  const { principal, name, cursor, limit = 100 } = query;
  const owner = recordOwner(principal);
  const page = await listRecords(store, { owner, prefix, name, cursor, limit });
  return { sessions: page.records.map(describeRecord), cursor: page.cursor };
}

/** The records under a prefix that a principal has: of sessions, and of waiting calls. */
async function findRecords(
  { store, provider }: SessionsContext,
  prefix: string,
  { principal, connection, name }: SessionSelection,
): Promise<Omit<FoundRecords, "grants">> {
  const found = await listAll(store, { prefix, owner: recordOwner(principal), name });
  const records = found.records.filter(
    ({ of }) => connection === undefined || of.connection === connection,
  );
  const waiting = found.waiting.filter((call) => isCallOf(call, connection));
  if (connection !== undefined && records.length + waiting.length === 0) {
    const declared = provider.declaredFor(principal);
    if (!Object.hasOwn(declared, connection)) {
      throw notDeclared(connection, Object.keys(declared), "connection");
    }
  }
  return { records, waiting };
}

/** Ends the stdio servers that the pool has. @param scope names the agent, and the agent session */
async function endKept(
  { provider: { pool }, namespace }: SessionsContext,
  scope: readonly unknown[],
  { principal, connection, name }: SessionSelection,
  mode: "restart" | "end",
): Promise<EndedSession[]> {
  if (pool === undefined) return [];
  const selects = (slot: SlotName) =>
    (connection === undefined || slot.connection === connection) &&
    (name === undefined || slot.name === name);
  const ended = await endProcesses(pool, [namespace, ...scope], principal, selects, mode);
  return ended.map(({ scope: own, ...end }) => ({ ...end, sessionId: own[2] as string }));
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
