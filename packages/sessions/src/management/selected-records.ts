import { McpSessionError, type Principal } from "@durable-mcp/core";
import { invalidOption } from "@durable-mcp/core/internal";
import { checkSessionName } from "../base/session-name.ts";
import type { ConnectionHeaders } from "../declare/credential-options.ts";
import { declareServer, type DeclaredServer, endpointOf } from "../declare/define-connection.ts";
import { clientConnections, findDeclared, notDeclared } from "../declare/mcp-connection.ts";
import { pingSession } from "../connection/end-mcp-session.ts";
import {
  checkSessionId,
  type ListedRecord,
  parseRecord,
  parseRecordOwner,
  recordKey,
  recordPrefix,
  whoseRecord,
} from "../records/slot-record.ts";
import { type FoundRecords, listAll, listRecords } from "../records/stored-records.ts";
import type { EndUse } from "../records/kept-session.ts";
import type {
  SelectionInTime,
  SessionListQuery,
  SessionSelection,
  SessionStatus,
  SharedId,
} from "../records/session-reports.ts";
import type { SlotName } from "../records/step-slot.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";

/**
 * A page of the records that a query selects.
 *
 * @param owner as of `findSelected`
 * @throws {McpSessionError} `CONNECTION_INVALID` for a selection that is none, `STORE_FAILED`
 */
export async function listSelected(
  context: SessionsContext,
  query: Partial<SessionSelection> & SessionListQuery,
  owner: string | undefined,
) {
  const { sessionId, principal: _, limit = 100, ...page } = query;
  const ofAll = { prefix: recordPrefix(context.agent) };
  const of = sessionId === undefined ? ofAll : recordsOf(context, sessionId, page.name);
  const records: ListedRecord[] = [];
  let { cursor } = page;
  let left = maxPages;
  do {
    const rest = { ...page, owner, cursor, limit: limit - records.length };
    const found = await listRecords(context.store, { ...rest, ...of });
    records.push(...found.records);
    ({ cursor } = found);
    left -= 1;
    // A store's page may have few that are wanted.
  } while (cursor !== undefined && records.length < limit && left > 0);
  return { records: onlyDeclared(context, query, records), cursor };
}

/** A page of a list costs no more pages of the store, however few records are wanted. */
const maxPages = 100;

/**
 * The records that a selection names: of sessions, and of waiting calls.
 *
 * @param owner whose; `undefined` only for an operator, who may select those of all
 * @throws {McpSessionError} `CONNECTION_INVALID` for a selection that is none, `STORE_FAILED`
 */
export async function findSelected(
  context: SessionsContext,
  of: string | SharedId,
  selected: Partial<SessionSelection>,
  owner: string | undefined,
): Promise<Pick<FoundRecords, "records" | "seen" | "waiting">> {
  const { connection, name } = selected;
  const query = { ...recordsOf(context, of, name), owner, connection, name };
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
  { principal, connection }: Partial<SessionSelection>,
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

/** The owner of a stored session, as the store has it. */
export interface SessionOwner extends SlotName {
  /** The principal; `undefined` if the store keeps only a fingerprint of it. */
  readonly principal: Principal | undefined;
  /** The store's own name for the principal. */
  readonly owner: string;
  /** The agent session's id; `undefined` for a shared session, which belongs to none. */
  readonly sessionId?: string | undefined;
}

/** For whom, with which definition of its connection, and how long a record's session is used. */
export type RecordUse = Omit<EndUse, "mode">;

/** The uses of a principal's records. */
export function recordUses(
  { provider, carried }: SessionsContext,
  { principal, timeoutMs }: Pick<SelectionInTime, "principal" | "timeoutMs">,
): (stored: ListedRecord) => RecordUse {
  const declared = clientConnections(provider.declaredFor(principal));
  return ({ of }) => ({
    principal,
    definition:
      findDeclared(declared, of.connection) ??
      // A state may be the client's, which names no servers.
      (carried ? undefined : serverAt(of.connection, declared)),
    timeoutMs,
  });
}

/** The server of a connection whose name is its address, as `openSessionFetch` names it. */
function serverAt(
  name: string,
  declared: Readonly<Record<string, DeclaredServer>>,
): DeclaredServer | undefined {
  if (!/^https?:/.test(name) || !URL.canParse(name)) return undefined;
  const same = Object.values(declared).find((each) => endpointOf(each) === name);
  const description = "A server that only the store knows.";
  return same ?? declareServer({ url: name, description, session: "stateful" });
}

/** Pings the session of a record on its server, unless nobody may use it. */
export async function askRecord(
  { now }: SessionsContext,
  { of, value }: ListedRecord,
  use: RecordUse | undefined,
): Promise<SessionStatus> {
  const { agent: _, sessionId: __, ...slot } = of;
  if (use === undefined) return { ...slot, alive: false, reason: "authorization-required" };
  const { timeoutMs = 5_000 } = use;
  const snapshot = parseRecord(value)?.snapshot;
  const session = { ...use, connection: of.connection, snapshot, timeoutMs, now };
  return { ...(await pingSession(session)), ...slot };
}

/** Allows an operator's program to use a session on its server. */
export interface SessionAuthorization {
  /** The session's principal. Checked against the record. */
  readonly principal: Principal;
  /**
   * In addition to the connection's own headers or in their place. With an `authorization` header the
   * connection's `auth` is not asked. @default the connection's own
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Says for whom a session is used on its server; with nothing, the server is neither asked nor told. */
export type AuthorizeSession = (
  owner: SessionOwner,
) => SessionAuthorization | undefined | Promise<SessionAuthorization | undefined>;

/**
 * The use of a record that `authorize` allows; `undefined` if it allows none.
 *
 * @returns `"changed"` if the record is not the listed one any more
 * @throws {McpSessionError} `CONNECTION_INVALID` for the principal of another record
 */
export async function authorizeRecord(
  context: SessionsContext,
  stored: ListedRecord,
  authorize: AuthorizeSession | undefined,
): Promise<RecordUse | "changed" | undefined> {
  const { key: listedKey, owner, of, revision } = stored;
  const named = parseRecordOwner(owner);
  const authorized = await authorize?.({ owner, principal: named, ...whoseRecord(of) });
  if (authorized === undefined) return undefined;
  const { principal, headers } = authorized;
  const key = recordKey(of, principal);
  if (key !== listedKey) {
    // A store may keep a fingerprint in the principal's place, so that only the store can tell.
    const found = named === undefined ? await context.store.get(key) : undefined;
    if (found === undefined) {
      throw new McpSessionError(
        "CONNECTION_INVALID",
        "authorize must return the principal of the session that it was given, or nothing.",
        { data: { field: "authorize", connection: of.connection } },
      );
    }
    if (found.revision !== revision) return "changed";
  }
  const use = recordUses(context, { principal })(stored);
  return { ...use, definition: use.definition && withHeaders(use.definition, headers) };
}

function withHeaders(
  { options: declared }: DeclaredServer,
  headers: SessionAuthorization["headers"],
): DeclaredServer {
  if (headers === undefined) return { options: declared };
  const names = new Set(Object.keys(headers).map((header) => header.toLowerCase()));
  const { auth, authProvider, headers: own = {}, ...options } = declared;
  const merge = (given: ConnectionHeaders): ConnectionHeaders => {
    const others = Object.entries(given).filter(([header]) => !names.has(header.toLowerCase()));
    return { ...Object.fromEntries(others), ...headers };
  };
  return declareServer({
    ...options,
    ...(!names.has("authorization") && { auth, authProvider }),
    headers: typeof own === "function" ? async (context) => merge(await own(context)) : merge(own),
  });
}
