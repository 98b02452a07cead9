import type { Principal } from "@durable-mcp/core";
import { invalidOption } from "@durable-mcp/core/internal";
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
import type { SharedId } from "./durable-sessions.ts";
import { endRecord } from "./end-record.ts";
import { type FoundRecords, forgetToolList, listAll } from "./stored-records.ts";
import {
  checkSessionId,
  type ListedRecord,
  parseRecord,
  recordOwner,
  recordPrefix,
} from "./slot-record.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { deleteCalls } from "../waiting/waiting-records.ts";

/** Sessions outside of a step: of an agent session, or shared ones of an id. */
export interface Selected extends SessionSelection {
  readonly of: string | SharedId;
  /** For each request to a server, in milliseconds. @default 5000 */
  readonly timeoutMs?: number | undefined;
}

type Found = Omit<FoundRecords, "grants">;

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
  const { records: found, waiting } = await listAll(store, query);
  const isLeftAlone = (record: ListedRecord) =>
    carried !== undefined && findDeclared(declared, record.of.connection) === undefined;
  const records = found.filter((record) => !isLeftAlone(record));
  if (records.length + waiting.length === 0) checkDeclared(declared, connection);
  return { records, waiting };
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkDeclared(declared: Connections, connection: string | undefined): void {
  if (connection === undefined || Object.hasOwn(declared, connection)) return;
  throw notDeclared(connection, Object.keys(declared), "connection");
}

/** Selects the records of an agent session, or of a shared id. @throws {McpSessionError} `CONNECTION_INVALID` */
export function recordsOf(
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
  const { records, waiting } = await findSelected(context, selected);
  const [ended, kept] = await Promise.all([
    endRecords(context, records, selected, mode),
    // No stdio server is shared.
    typeof of === "string" ? endKept(context, [context.agent, of], selected, mode) : [],
    mode === "end" && deleteCalls(context, waiting, principal),
  ]);
  return [...ended, ...kept];
}

/** Forgets the kept tool lists. */
export async function clearSelectedTools(
  context: SessionsContext,
  selected: Selected,
): Promise<void> {
  const { records } = await findSelected(context, selected);
  await inParallel(records, async (stored) => {
    await forgetToolList(context, stored.of, stored, selected.principal);
  });
}

/** Ends the stdio servers that the pool has. @param scope names the agent, and the agent session */
export async function endKept(
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

export async function endRecords(
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
