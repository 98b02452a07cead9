import { McpSessionError, type Principal } from "@durable-mcp/core";
import { clientConnections, findDeclared } from "../connection/mcp-connection.ts";
import { pingSession } from "../http/end-mcp-session.ts";
import type { EndUse } from "../slots/kept-session.ts";
import type { SelectionInTime, SessionStatus } from "../slots/session-reports.ts";
import type { ConnectionHeaders } from "../connection/credential-options.ts";
import {
  defineMcpClientConnection,
  type McpClientConnection,
} from "../connection/define-connection.ts";
import {
  type ListedRecord,
  parseRecord,
  parseRecordOwner,
  recordKey,
  whoseRecord,
} from "../records/slot-record.ts";
import type { SlotName } from "../slots/step-slot.ts";
import type { SessionsContext } from "./sessions-context.ts";

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
  { provider }: SessionsContext,
  { principal, timeoutMs }: Pick<SelectionInTime, "principal" | "timeoutMs">,
): (stored: ListedRecord) => RecordUse {
  const declared = clientConnections(provider.declaredFor(principal));
  return ({ of }) => ({
    principal,
    definition: findDeclared(declared, of.connection),
    timeoutMs,
  });
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
  definition: McpClientConnection,
  headers: SessionAuthorization["headers"],
): McpClientConnection {
  if (headers === undefined) return definition;
  const names = new Set(Object.keys(headers).map((header) => header.toLowerCase()));
  const { auth, authProvider, headers: own = {}, ...options } = definition.options;
  const merge = (given: ConnectionHeaders): ConnectionHeaders => {
    const others = Object.entries(given).filter(([header]) => !names.has(header.toLowerCase()));
    return { ...Object.fromEntries(others), ...headers };
  };
  return defineMcpClientConnection({
    ...options,
    ...(!names.has("authorization") && { auth, authProvider }),
    headers: typeof own === "function" ? async (context) => merge(await own(context)) : merge(own),
  });
}
