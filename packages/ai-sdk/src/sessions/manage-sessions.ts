import type { Principal } from "@durable-mcp/core";
import { invalidOption, oauthKey } from "@durable-mcp/core/internal";
import { checkOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { checkSessionName } from "../base/session-name.ts";
import { clientConnections, findDeclared, notDeclared } from "../connection/mcp-connection.ts";
import { pingSession } from "../http/end-mcp-session.ts";
import type { EndMode } from "../slots/kept-session.ts";
import type { EndedSession, SelectionInTime, SessionSelection } from "../slots/session-reports.ts";
import type { SlotName } from "../slots/step-slot.ts";
import type { DurableSessions, SharedId } from "./durable-sessions.ts";
import { endRecord } from "../records/end-record.ts";
import {
  deleteSeen,
  type FoundRecords,
  forgetToolList,
  listAll,
  type ListedGrant,
  listRecords,
} from "../records/stored-records.ts";
import {
  checkSessionId,
  describeRecord,
  type ListedRecord,
  parseRecord,
  recordOwner,
  recordPrefix,
} from "../records/slot-record.ts";
import {
  listSchema,
  principalSchema,
  selectionInTimeSchema,
  selectionSchema,
} from "./option-schemas.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { deleteCalls } from "../waiting/waiting-records.ts";

/** The uses of a principal's sessions outside of a step, in a store or a state. */
export function createManagement(
  context: SessionsContext,
): Pick<DurableSessions<any>, "list" | "status" | "restart" | "clearTools" | "end" | "endAll"> {
  const { provider, store, agent, now } = context;
  return {
    async list(query) {
      const { sessionId, limit = 100, ...selected } = checkOptions(listSchema, query);
      const { principal, ...page } = selected;
      const ofAll = { prefix: recordPrefix(agent) };
      const of = sessionId === undefined ? ofAll : recordsOf(context, sessionId, page.name);
      const found = await listRecords(store, {
        ...page,
        owner: recordOwner(principal),
        limit,
        ...of,
      });
      const records = onlyDeclared(context, selected, found.records);
      return { sessions: records.map(describeRecord), cursor: found.cursor };
    },
    async status(of, selection) {
      const { timeoutMs = 5_000, ...selected } = checkOptions(selectionInTimeSchema, selection);
      const { principal } = selected;
      const { records } = await findSelected(context, of, selected);
      const declared = clientConnections(provider.declaredFor(principal));
      return await inParallel(records, async ({ of: { connection, name, shared }, value }) => {
        const definition = findDeclared(declared, connection);
        const snapshot = parseRecord(value)?.snapshot;
        const session = { definition, connection, principal, snapshot };
        const status = await pingSession({ ...session, timeoutMs, now });
        const named = name === undefined ? {} : { name };
        return { ...status, ...named, ...(shared !== undefined && { shared }) };
      });
    },
    async restart(of, selection) {
      const selected = checkOptions(selectionInTimeSchema, selection);
      const { records } = await findSelected(context, of, selected);
      return await endFound(context, of, selected, records, "restart");
    },
    async clearTools(of, selection) {
      const selected = checkOptions(selectionSchema, selection);
      const { records } = await findSelected(context, of, selected);
      await inParallel(records, async (stored) => {
        await forgetToolList(store, stored.of, stored, selected.principal);
      });
    },
    async end(of, selection) {
      const selected = checkOptions(selectionInTimeSchema, selection);
      const found = await findSelected(context, of, selected);
      const [ended] = await Promise.all([
        endFound(context, of, selected, found.records, "end"),
        deleteCalls(context, found.waiting, selected.principal),
        deleteSeen(store, found.seen, selected.principal),
      ]);
      return ended;
    },
    async endAll(query) {
      const { principal } = checkOptions(principalSchema, query);
      const owner = recordOwner(principal);
      const { records, seen, waiting, grants } = await listAll(store, { owner });
      const [ended, processes] = await Promise.all([
        endRecords(context, records, { principal }, "delete"),
        endKept(context, [], { principal }, "end"),
        deleteCalls(context, waiting, principal),
        deleteSeen(store, seen, principal),
      ]);
      // Not before: the end of a session on its server needs a token.
      await forgetGrants(context, grants, principal);
      return [...ended, ...processes];
    },
  };
}

/**
 * The records that a selection names: of sessions, and of waiting calls.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID` for a selection that is none, `STORE_FAILED`
 */
async function findSelected(
  context: SessionsContext,
  of: string | SharedId,
  selected: SessionSelection,
): Promise<Pick<FoundRecords, "records" | "seen" | "waiting">> {
  const { principal, connection, name } = selected;
  const query = {
    ...recordsOf(context, of, name),
    owner: recordOwner(principal),
    connection,
    name,
  };
  const { records, seen, waiting } = await listAll(context.store, query);
  return { records: onlyDeclared(context, selected, records, waiting), seen, waiting };
}

/**
 * The records without those that are left alone: in a state, of undeclared connections. A name of no connection is
 * an error, unless a store has something of it.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
function onlyDeclared(
  { provider, carried }: SessionsContext,
  { principal, connection }: SessionSelection,
  records: readonly ListedRecord[],
  others: readonly unknown[] = [],
): readonly ListedRecord[] {
  const declared = provider.declaredFor(principal);
  const isEmpty = records.length + others.length === 0;
  const isMissing = connection !== undefined && !Object.hasOwn(declared, connection);
  if (isMissing && (isEmpty || carried !== undefined)) {
    throw notDeclared(connection, Object.keys(declared), "connection");
  }
  if (carried === undefined) return records;
  return records.filter(({ of }) => findDeclared(declared, of.connection) !== undefined);
}

/** Selects the records of an agent session, or of a shared id. @throws {McpSessionError} `CONNECTION_INVALID` */
function recordsOf(
  { agent, carried }: SessionsContext,
  of: string | SharedId,
  name: string | undefined,
) {
  if (typeof of === "object" && of !== null) {
    checkSessionName(of.shared, "shared");
    if (name !== undefined)
      throw invalidOption("name", "is none of a shared session, which has an id");
    return { prefix: recordPrefix(agent, null), shared: of.shared };
  }
  if (carried === undefined) checkSessionId(of);
  return { prefix: recordPrefix(agent, of) };
}

/** Ends the sessions on their servers, and the processes in a pool. */
async function endFound(
  context: SessionsContext,
  of: string | SharedId,
  selected: SelectionInTime,
  records: readonly ListedRecord[],
  mode: "restart" | "end",
): Promise<EndedSession[]> {
  const [ended, kept] = await Promise.all([
    endRecords(context, records, selected, mode),
    // No stdio server is shared.
    typeof of === "string" ? endKept(context, [context.agent, of], selected, mode) : [],
  ]);
  return [...ended, ...kept];
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
  const ended = await pool.end([namespace, ...scope], principal, selects, mode);
  return ended.map(({ scope: own, ...end }) => ({ ...end, sessionId: own[2] as string }));
}

async function endRecords(
  context: SessionsContext,
  records: readonly ListedRecord[],
  { principal, timeoutMs }: SelectionInTime,
  mode: EndMode,
): Promise<EndedSession[]> {
  const declared = clientConnections(context.provider.declaredFor(principal));
  const ended = await inParallel(records, async (stored) => {
    const definition = findDeclared(declared, stored.of.connection);
    const use = { definition, principal, mode, timeoutMs };
    return await endRecord(context, stored.of, stored, use);
  });
  return ended.filter((result) => result !== undefined);
}

/**
 * Has each `auth` of the declared connections forget a principal, and deletes what is left of sign-ins in the
 * store. One that fails keeps none of the others from it.
 */
async function forgetGrants(
  { provider, store }: SessionsContext,
  grants: readonly ListedGrant[],
  principal: Principal,
): Promise<void> {
  const declared = Object.values(clientConnections(provider.declaredFor(principal)));
  const sources = declared.flatMap(({ options: { auth } }) =>
    typeof auth === "object" ? [auth] : [],
  );
  const found = await inParallel(grants, async ({ of }) => {
    // Not the listed key: a store may list a fingerprint instead of the principal.
    const key = oauthKey(of.kind, of.id, principal);
    return { key, revision: (await store.get(key))?.revision };
  });
  const outcomes = await Promise.allSettled(
    [...new Set(sources)].map(async (auth) => await auth.deleteAll?.({ principal })),
  );
  await inParallel(found, async ({ key, revision }) => {
    // What has changed is what an `auth` has left: a mark, so that a sign-in under way brings nothing back.
    if (revision !== undefined) await store.delete(key, revision);
  });
  const failed = outcomes.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}
