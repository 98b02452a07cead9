import {
  McpSessionError,
  type Principal,
  type SessionStore,
  type StoredRecord,
} from "@durable-mcp/core";
import type { ConnectionHeaders } from "../connection/credential-options.ts";
import {
  defineMcpClientConnection,
  type McpClientConnection,
} from "../connection/define-connection.ts";
import { clientConnections, findDeclared } from "../connection/mcp-connection.ts";
import { checkOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { isNewerEntry } from "../slots/kept-session.ts";
import type {
  EndedSession,
  SessionListQuery,
  SessionPage,
  StoredSession,
} from "../slots/session-reports.ts";
import type { SlotName } from "../slots/step-slot.ts";
import { endRecord, removeRecord } from "../records/end-record.ts";
import { adminListSchema, sweepSchema } from "./option-schemas.ts";
import type { SessionsContext } from "./sessions-context.ts";
import {
  checkIdleMs,
  describeRecord,
  isOverdue,
  type ListedRecord,
  parseRecordOwner,
  recordKey,
  recordPrefix,
  whoseRecord,
} from "../records/slot-record.ts";
import { listRecords } from "../records/stored-records.ts";
import { deleteUnusedCalls, type ListedCall } from "../waiting/waiting-records.ts";

/** The owner of a stored session, as the store has it. */
export interface SessionOwner extends SlotName {
  /** The principal; `undefined` if the store keeps only a fingerprint of it. */
  readonly principal: Principal | undefined;
  /** The store's own name for the principal. */
  readonly owner: string;
  /** The agent session's id; `undefined` for a shared session, which belongs to none. */
  readonly sessionId?: string | undefined;
}

/** Allows a sweep to end a session on its server. */
export interface SweepAuthorization {
  /** The session's principal. Checked against the record. */
  readonly principal: Principal;
  /**
   * For the DELETE, in addition to the connection's own headers or in their place. With an
   * `authorization` header the connection's `auth` is not asked. @default the connection's own
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Sees the sessions of all principals. Keep it away from code that serves users. */
export interface DurableSessionsAdmin {
  /** All stored sessions of this agent. */
  list(
    query?: SessionListQuery,
  ): Promise<SessionPage<StoredSession & Pick<SessionOwner, "owner" | "principal">>>;
  /**
   * Removes sessions that nobody used for `idleForMs`; without it, named ones that nobody used for their own
   * `idleTimeoutMs`. Either time counts as at least `clockSkewMs` and three times `touchIntervalMs`: 18 minutes,
   * unless you set them. At most one sweeper works on a session, and none on one in use. If `authorize` returns a principal, the session is ended on its server first; if that
   * fails, the record stays for one later sweep. Otherwise only the record goes.
   *
   * It also deletes the calls that wait for a person, and those that are over, without use for as long. A
   * question that nobody answers is not used: let `idleForMs` be longer than people may take.
   *
   * @param options.name only named sessions of that name
   * @param options.shared only shared sessions, or only others. @default all
   * @param options.idleForMs at least three times `touchIntervalMs`. @default named sessions alone: those whose own
   *   `idleTimeoutMs` is up. It reads every record that is not in use
   * @param options.limit how many sessions and calls at most, 1 to 1000. @default 100
   * @returns one entry for each session that the sweep worked on, how many waiting calls it deleted, and
   *   whether there may be more
   * @throws {McpSessionError} `CONNECTION_INVALID`, `STORE_FAILED`; the error of `authorize`
   */
  sweep(options?: {
    readonly idleForMs?: number | undefined;
    readonly name?: string | undefined;
    readonly shared?: boolean | undefined;
    readonly limit?: number | undefined;
    readonly authorize?:
      | ((
          owner: SessionOwner,
        ) => SweepAuthorization | undefined | Promise<SweepAuthorization | undefined>)
      | undefined;
  }): Promise<{
    readonly sessions: readonly (EndedSession & Pick<SessionOwner, "owner">)[];
    readonly waitingCalls: number;
    readonly more: boolean;
  }>;
}

export function createSessionsAdmin(context: SessionsContext): DurableSessionsAdmin {
  const { store, agent, touchIntervalMs, maybeInUseMs, now } = context;
  return {
    async list(query = {}) {
      const { name, cursor, limit = 100 } = checkOptions(adminListSchema, query);
      const page = await listRecords(store, { prefix: recordPrefix(agent), name, cursor, limit });
      const sessions = page.records.map((record) => {
        const { owner } = record;
        return { ...describeRecord(record), owner, principal: parseRecordOwner(owner) };
      });
      return { sessions, cursor: page.cursor };
    },

    async sweep(options = {}) {
      const {
        idleForMs,
        name,
        shared,
        limit = 100,
        authorize,
      } = checkOptions(sweepSchema, options);
      const isByName = idleForMs === undefined;
      if (!isByName) checkIdleMs(idleForMs, "idleForMs", touchIntervalMs);
      const time = now();
      const idleSince = Math.max(0, time - Math.max(idleForMs ?? 0, maybeInUseMs));
      const query = { name, shared, prefix: recordPrefix(agent), idleSince, limit };
      const idle: ListedRecord[] = [];
      const waiting: ListedCall[] = [];
      const seen: ListedRecord[] = [];
      let cursor: string | undefined;
      let left = limit;
      do {
        const page = await listRecords(store, { ...query, cursor });
        const records = page.records.filter(isOfThisRelease);
        idle.push(...records.filter((record) => !isByName || isOverdue(record, time)));
        if (!isByName) waiting.push(...page.waiting.filter(isOfThisRelease));
        if (!isByName) seen.push(...page.seen);
        ({ cursor } = page);
        left = limit - idle.length - waiting.length;
        // A page may have no record that is wanted.
      } while (cursor !== undefined && left > 0);
      const sweeping = idle.slice(0, limit);
      const [swept, waitingCalls] = await Promise.all([
        inParallel(sweeping, async (stored) => {
          const ended = await sweepRecord(context, stored, isByName ? "idle" : "sweep", authorize);
          return ended ? [{ owner: stored.owner, ...ended }] : [];
        }),
        deleteUnusedCalls(context, waiting.slice(0, limit - sweeping.length)),
        inParallel(seen, ({ key, revision }) => store.delete(key, revision)),
      ]);
      return { sessions: swept.flat(), waitingCalls, more: cursor !== undefined || left < 0 };
    },
  };
}

/** Later releases sweep their own records. */
function isOfThisRelease({ value }: StoredRecord): boolean {
  return !isNewerEntry(value);
}

/** @returns `undefined` if another process took care of the record */
async function sweepRecord(
  context: SessionsContext,
  stored: ListedRecord,
  mode: "sweep" | "idle",
  authorize: NonNullable<Parameters<DurableSessionsAdmin["sweep"]>[0]>["authorize"],
): Promise<EndedSession | undefined> {
  const { owner, of } = stored;
  const { store, provider } = context;
  const whose = { owner, principal: parseRecordOwner(owner), ...whoseRecord(of) };
  const authorized = await authorize?.(whose);
  if (authorized === undefined) return await removeRecord(store, stored);
  const { principal, headers } = authorized;
  if (!(await isOfPrincipal(store, stored, principal))) return undefined;
  const connections = clientConnections(provider.declaredFor(principal));
  const declared = findDeclared(connections, of.connection);
  const definition = declared && withHeaders(declared, headers);
  return await endRecord(context, of, stored, { definition, principal, mode });
}

/**
 * Whether a record is still the principal's. A store may keep a fingerprint in the principal's
 * place, so that only the store can tell.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` when it never was
 */
async function isOfPrincipal(
  store: SessionStore,
  { key: listedKey, owner, revision, of }: ListedRecord,
  principal: Principal,
): Promise<boolean> {
  const key = recordKey(of, principal);
  if (key === listedKey) return true;
  const found = parseRecordOwner(owner) === undefined ? await store.get(key) : undefined;
  if (found !== undefined) return found.revision === revision;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "authorize must return the principal of the session that it was given, or nothing.",
    { data: { field: "authorize", connection: of.connection } },
  );
}

function withHeaders(
  definition: McpClientConnection,
  headers: SweepAuthorization["headers"],
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
