import {
  McpSessionError,
  type Principal,
  type SessionStore,
  type StoredRecord,
} from "@durable-mcp/core";
import {
  defineMcpClientConnection,
  type McpClientConnection,
} from "../connection/define-connection.ts";
import { findDeclared } from "../connection/mcp-connection.ts";
import { endRecord } from "./end-record.ts";
import { inParallel } from "../base/in-parallel.ts";
import {
  checkIdleMs,
  describeRecord,
  parseRecordKey,
  parseRecordOwner,
  type RecordName,
  recordKey,
  recordPrefix,
} from "./slot-record.ts";
import { checkSessionName } from "../slots/slot-name.ts";
import type { EndedSession, SessionPage, StoredSession } from "../slots/session-reports.ts";

/** The owner of a stored session, as the store has it. */
export interface SessionOwner {
  /** The principal; `undefined` if the store keeps only a fingerprint of it. */
  readonly principal: Principal | undefined;
  /** The store's own name for the principal. */
  readonly owner: string;
  readonly sessionId: string;
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
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
  list(query?: {
    /** Only the sessions of that name; a page may then have fewer than `limit`. */
    readonly name?: string | undefined;
    readonly cursor?: string | undefined;
    /** How many at most, 1 to 1000. @default 100 */
    readonly limit?: number | undefined;
  }): Promise<SessionPage<StoredSession & Pick<SessionOwner, "owner" | "principal">>>;
  /**
   * Removes sessions without use for `idleForMs`. At most one sweeper works on a session, and none
   * on a session in use. If `authorize` returns a principal, the session is ended on its server
   * first; if that fails, the record stays for one later sweep. Otherwise only the record goes, and
   * the server ends its session when its own time is up.
   *
   * @param options.name only named sessions of that name
   * @param options.idleForMs at least three times `touchIntervalMs`
   * @param options.limit how many at most, 1 to 1000. @default 100
   * @returns one entry for each session that the sweep worked on, and whether there may be more
   * @throws {McpSessionError} `CONNECTION_INVALID`, `STORE_FAILED`; the error of `authorize`
   */
  sweep(options: {
    readonly idleForMs: number;
    readonly name?: string | undefined;
    readonly limit?: number | undefined;
    readonly authorize?:
      | ((
          owner: SessionOwner,
        ) => SweepAuthorization | undefined | Promise<SweepAuthorization | undefined>)
      | undefined;
  }): Promise<{
    readonly sessions: readonly (EndedSession & Pick<SessionOwner, "owner">)[];
    readonly more: boolean;
  }>;
}

/** How many sessions a sweep ends at a time. */
const endedAtOnce = 10;

interface AdminOptions {
  store: SessionStore;
  agent: string | null;
  declaredFor: (principal: Principal) => Record<string, McpClientConnection>;
  touchIntervalMs: number;
  now: () => number;
}

export function createSessionsAdmin(options: AdminOptions): DurableSessionsAdmin {
  const { store, agent, touchIntervalMs, now } = options;
  return {
    async list({ name, cursor, limit = 100 } = {}) {
      if (name !== undefined) checkSessionName(name, "name");
      const page = await store.list({ prefix: recordPrefix(agent), cursor, limit });
      const sessions = page.records.flatMap((stored) => {
        const { owner } = stored;
        const principal = parseRecordOwner(owner);
        return describeRecord(stored).map((session) => ({ ...session, owner, principal }));
      });
      const isSelected = (session: StoredSession) => name === undefined || session.name === name;
      return { sessions: sessions.filter(isSelected), cursor: page.cursor };
    },

    async sweep({ idleForMs, name, limit = 100, authorize }) {
      if (name !== undefined) checkSessionName(name, "name");
      checkIdleMs(idleForMs, "idleForMs", touchIntervalMs);
      const idleSince = now() - idleForMs;
      const { records, more } = await idleRecords(options, { idleSince, limit, name });
      const swept = await inParallel(records, endedAtOnce, async (stored) => {
        const ended = await sweepRecord(options, stored, authorize);
        return ended ? [{ owner: stored.owner, ...ended }] : [];
      });
      return { sessions: swept.flat(), more };
    },
  };
}

/** The first records that match, and whether there may be more. */
async function idleRecords(
  { store, agent }: AdminOptions,
  query: { idleSince: number; limit: number; name: string | undefined },
): Promise<{ records: readonly StoredRecord[]; more: boolean }> {
  const { name, ...page } = query;
  const prefix = recordPrefix(agent);
  const records: StoredRecord[] = [];
  // A page may have no record of a given name.
  const enough = name === undefined ? 0 : page.limit;
  let cursor: string | undefined;
  do {
    const found = await store.list({ prefix, ...page, cursor });
    const isSelected = ({ key }: StoredRecord) =>
      name === undefined || parseRecordKey(key)?.name === name;
    records.push(...found.records.filter(isSelected));
    ({ cursor } = found);
  } while (cursor !== undefined && records.length < enough);
  const more = cursor !== undefined || records.length > page.limit;
  return { records: records.slice(0, page.limit), more };
}

/** @returns `undefined` for a record of something else, or if another process took care of it */
async function sweepRecord(
  { store, declaredFor, now }: AdminOptions,
  stored: StoredRecord,
  authorize: Parameters<DurableSessionsAdmin["sweep"]>[0]["authorize"],
): Promise<EndedSession | undefined> {
  const { key, owner, revision } = stored;
  const name = parseRecordKey(key);
  if (name === undefined) return undefined;
  const { agent: _, ...whose } = name;
  const authorized = await authorize?.({ owner, principal: parseRecordOwner(owner), ...whose });
  if (authorized === undefined) {
    const deleted = await store.delete(key, revision);
    return deleted.ok ? { ...whose, ended: false, removed: true } : undefined;
  }
  const { principal, headers } = authorized;
  if (!(await isOfPrincipal(store, stored, name, principal))) return undefined;
  const declared = findDeclared(declaredFor(principal), name.connection);
  const definition = declared && withHeaders(declared, headers);
  return await endRecord({ store, stored, definition, principal, mode: "sweep", now });
}

/**
 * Whether a record is still the principal's. A store may keep a fingerprint in the principal's
 * place, so that only the store can tell.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` when it never was
 */
async function isOfPrincipal(
  store: SessionStore,
  stored: StoredRecord,
  name: RecordName,
  principal: Principal,
): Promise<boolean> {
  const key = recordKey(name, principal);
  if (key === stored.key) return true;
  const found = parseRecordOwner(stored.owner) === undefined ? await store.get(key) : undefined;
  if (found !== undefined) return found.revision === stored.revision;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "authorize must return the principal of the session that it was given, or nothing.",
    { data: { field: "authorize", connection: name.connection } },
  );
}

function withHeaders(
  definition: McpClientConnection,
  headers: SweepAuthorization["headers"],
): McpClientConnection {
  if (headers === undefined) return definition;
  const names = new Set(Object.keys(headers).map((header) => header.toLowerCase()));
  const { auth, authProvider, ...options } = definition.options;
  const others = Object.entries(options.headers ?? {}).filter(
    ([header]) => !names.has(header.toLowerCase()),
  );
  return defineMcpClientConnection({
    ...options,
    ...(!names.has("authorization") && { auth, authProvider }),
    headers: { ...Object.fromEntries(others), ...headers },
  });
}
