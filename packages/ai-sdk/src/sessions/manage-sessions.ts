import type { Principal } from "@durable-mcp/core";
import { invalidOption, oauthKey } from "@durable-mcp/core/internal";
import { checkOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { checkSessionName } from "../base/session-name.ts";
import {
  clientConnections,
  type Connections,
  findDeclared,
  notDeclared,
} from "../connection/mcp-connection.ts";
import { pingSession } from "../http/end-mcp-session.ts";
import type { EndMode } from "../slots/kept-session.ts";
import type { EndedSession, SessionSelection, SessionStatus } from "../slots/session-reports.ts";
import type { SlotName } from "../slots/step-slot.ts";
import type { DurableSessions, SharedId } from "./durable-sessions.ts";
import { endRecord } from "../records/end-record.ts";
import {
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
  recordKey,
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

/** Sessions outside of a step: of an agent session, or shared ones of an id. */
export interface Selected extends SessionSelection {
  readonly of: string | SharedId;
  /** For each request to a server, in milliseconds. @default 5000 */
  readonly timeoutMs?: number | undefined;
}

type Found = Pick<FoundRecords, "records" | "seen" | "waiting">;

/**
 * The records that a selection names: of sessions, and of waiting calls. In a state undeclared connections are left
 * alone.
 *
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID` for a selection that is none, `STORE_FAILED`
 */
export async function findSelected(context: SessionsContext, selected: Selected): Promise<Found> {
  const { store, provider, carried } = context;
  const { of, principal, connection, name } = selected;
  const owner = recordOwner(principal);
  const declared = provider.declaredFor(principal);
  if (carried !== undefined) checkDeclared(declared, connection);
  const query = { ...recordsOf(context, of, name), owner, connection, name };
  const { records: found, seen, waiting } = await listAll(store, query);
  const isLeftAlone = (record: ListedRecord) =>
    carried !== undefined && findDeclared(declared, record.of.connection) === undefined;
  const records = found.filter((record) => !isLeftAlone(record));
  if (records.length + waiting.length === 0) checkDeclared(declared, connection);
  return { records, seen, waiting };
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
function checkDeclared(declared: Connections, connection: string | undefined): void {
  if (connection === undefined || Object.hasOwn(declared, connection)) return;
  throw notDeclared(connection, Object.keys(declared), "connection");
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

/** Pings the sessions on their servers. Makes no session and changes no record. */
export async function checkSelected(
  context: SessionsContext,
  { timeoutMs = 5_000, ...selected }: Selected,
): Promise<SessionStatus[]> {
  const { principal } = selected;
  const { records } = await findSelected(context, selected);
  const declared = clientConnections(context.provider.declaredFor(principal));
  return await inParallel(records, async ({ of, value }) => {
    const { connection, name, shared } = of;
    const definition = findDeclared(declared, connection);
    const snapshot = parseRecord(value)?.snapshot;
    const session = { definition, connection, principal, snapshot };
    const status = await pingSession({ ...session, timeoutMs, now: context.now });
    const named = name === undefined ? {} : { name };
    return { ...status, ...named, ...(shared !== undefined && { shared }) };
  });
}

/** Ends the sessions on their servers, and with `end` deletes the calls that wait. */
export async function endSelected(
  context: SessionsContext,
  selected: Selected,
  mode: "restart" | "end",
): Promise<EndedSession[]> {
  const { of, principal } = selected;
  const { records, seen, waiting } = await findSelected(context, selected);
  const [ended, kept] = await Promise.all([
    endRecords(context, records, selected, mode),
    // No stdio server is shared.
    typeof of === "string" ? endKept(context, [context.agent, of], selected, mode) : [],
    mode === "end" && deleteCalls(context, waiting, principal),
    mode === "end" && deleteSeen(context, seen, principal),
  ]);
  return [...ended, ...kept];
}

/** Deletes what agent sessions have seen of shared sessions. */
async function deleteSeen(
  { store }: SessionsContext,
  seen: readonly ListedRecord[],
  principal: Principal,
): Promise<void> {
  // Not the listed key: a store may list a fingerprint instead of the principal.
  await inParallel(seen, async ({ of }) => await store.delete(recordKey(of, principal)));
}

/** Forgets the kept tool lists. */
export async function clearSelectedTools(
  context: SessionsContext,
  selected: Selected,
): Promise<void> {
  const { records } = await findSelected(context, selected);
  await inParallel(records, async (stored) => {
    await forgetToolList(context.store, stored.of, stored, selected.principal);
  });
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
  { principal, timeoutMs }: { principal: Principal; timeoutMs?: number | undefined },
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

/** The uses of a principal's stored sessions outside of a step. */
export function createSessionsManagement(
  context: SessionsContext,
): Pick<DurableSessions<any>, "list" | "status" | "restart" | "clearTools" | "end" | "endAll"> {
  const { provider, store, agent } = context;
  return {
    async list(query) {
      const { principal, sessionId, limit = 100, ...page } = checkOptions(listSchema, query);
      const owner = recordOwner(principal);
      const own =
        sessionId === undefined
          ? { prefix: recordPrefix(agent) }
          : recordsOf(context, sessionId, page.name);
      const found = await listRecords(store, { ...page, owner, limit, ...own });
      if (found.records.length === 0) {
        checkDeclared(provider.declaredFor(principal), page.connection);
      }
      return { sessions: found.records.map(describeRecord), cursor: found.cursor };
    },
    status: async (of, selection) =>
      await checkSelected(context, { of, ...checkOptions(selectionInTimeSchema, selection) }),
    restart: async (of, selection) => {
      const selected = { of, ...checkOptions(selectionInTimeSchema, selection) };
      return await endSelected(context, selected, "restart");
    },
    clearTools: async (of, selection) =>
      await clearSelectedTools(context, { of, ...checkOptions(selectionSchema, selection) }),
    end: async (of, selection) => {
      const selected = { of, ...checkOptions(selectionInTimeSchema, selection) };
      return await endSelected(context, selected, "end");
    },

    async endAll(query) {
      const { principal } = checkOptions(principalSchema, query);
      const owner = recordOwner(principal);
      const { records, seen, waiting, grants } = await listAll(store, { owner });
      const [ended, processes] = await Promise.all([
        endRecords(context, records, { principal }, "delete"),
        endKept(context, [], { principal }, "end"),
        deleteCalls(context, waiting, principal),
        deleteSeen(context, seen, principal),
      ]);
      // Not before: the end of a session on its server needs a token.
      await forgetGrants(context, grants, principal);
      return [...ended, ...processes];
    },
  };
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
