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
  describeRecord,
  parseRecordKey,
  parseRecordOwner,
  type RecordName,
  recordKey,
  recordPrefix,
} from "./slot-record.ts";
import { checkSessionName } from "../slots/slot-name.ts";
import type { EndedSession, SessionPage, StoredSession } from "../slots/session-reports.ts";

/** Whose a stored session is, as the store has it. */
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

/** What a sweep may end a session with. */
export interface SweepAuthorization {
  /** Whose session it is. Checked against the record. */
  readonly principal: Principal;
  /**
   * For the DELETE, over the connection's own headers. With an `authorization` the connection's
   * `auth` is not asked. @default those of the connection
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Sees the sessions of all principals. Separate, so that code for users is not handed it by accident.
 */
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
   * Removes sessions that nobody used for `idleForMs`. At most one sweeper works on a session, and
   * none on one in use. Those that `authorize` gives a principal for are ended on their servers
   * first; one that could not be is kept for a later sweep, once. Of the others only the record
   * goes, and the server ends its session when its own time is up.
   *
   * @param options.name only named sessions of that name
   * @param options.idleForMs at least three times `touchIntervalMs`
   * @param options.limit how many at most, 1 to 1000. @default 100
   * @returns one entry for each session it worked on, and whether there may be more
   * @throws {McpSessionError} `CONNECTION_INVALID`, `STORE_FAILED`; what `authorize` throws
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

export function createSessionsAdmin({
  store,
  agent,
  declaredFor,
  touchIntervalMs,
  now,
}: {
  store: SessionStore;
  agent: string | null;
  declaredFor: (principal: Principal) => Record<string, McpClientConnection>;
  touchIntervalMs: number;
  now: () => number;
}): DurableSessionsAdmin {
  const prefix = recordPrefix(agent);

  /** The first that match, and whether there may be more. */
  const idleRecords = async ({
    idleSince,
    limit,
    name,
  }: {
    idleSince: number;
    limit: number;
    name: string | undefined;
  }): Promise<{ records: readonly StoredRecord[]; more: boolean }> => {
    const records: StoredRecord[] = [];
    // Of those of one name a page may have none.
    const enough = name === undefined ? 0 : limit;
    let cursor: string | undefined;
    do {
      const page = await store.list({ prefix, idleSince, cursor, limit });
      const isSelected = ({ key }: StoredRecord) =>
        name === undefined || parseRecordKey(key)?.name === name;
      records.push(...page.records.filter(isSelected));
      ({ cursor } = page);
    } while (cursor !== undefined && records.length < enough);
    return {
      records: records.slice(0, limit),
      more: cursor !== undefined || records.length > limit,
    };
  };

  return {
    async list({ name, cursor, limit = 100 } = {}) {
      if (name !== undefined) checkSessionName(name, "name");
      const page = await store.list({ prefix, cursor, limit });
      const sessions = page.records.flatMap((stored) =>
        describeRecord(stored).map((session) => {
          const { owner } = stored;
          return { ...session, owner, principal: parseRecordOwner(owner) };
        }),
      );
      const isSelected = (session: StoredSession) => name === undefined || session.name === name;
      return { sessions: sessions.filter(isSelected), cursor: page.cursor };
    },

    async sweep({ idleForMs, name: onlyName, limit = 100, authorize }) {
      if (onlyName !== undefined) checkSessionName(onlyName, "name");
      const leastMs = 3 * touchIntervalMs;
      if (!(idleForMs >= leastMs)) {
        throw new McpSessionError(
          "CONNECTION_INVALID",
          `idleForMs must be at least ${leastMs}, three times touchIntervalMs: what is in use is marked as used that often.`,
          { data: { field: "idleForMs" } },
        );
      }
      const idleSince = now() - idleForMs;
      const { records, more } = await idleRecords({ idleSince, limit, name: onlyName });

      const sweepOne = async (stored: StoredRecord) => {
        const { key, owner, revision } = stored;
        const name = parseRecordKey(key);
        if (name === undefined) return [];
        const { agent: _, ...whose } = name;
        const { connection } = name;
        const principal = parseRecordOwner(owner);
        const authorized = await authorize?.({ owner, principal, ...whose });
        if (authorized === undefined) {
          const deleted = await store.delete(key, revision);
          return deleted.ok ? [{ owner, ...whose, ended: false, removed: true }] : [];
        }
        if (!(await isOfPrincipal(store, stored, name, authorized.principal))) return [];
        const declared = declaredFor(authorized.principal);
        const definition = findDeclared(declared, connection);
        const ended = await endRecord({
          store,
          stored,
          definition: definition && withHeaders(definition, authorized.headers),
          principal: authorized.principal,
          mode: "sweep",
          now,
        });
        return ended ? [{ owner, ...ended }] : [];
      };
      const swept = await inParallel(records, endedAtOnce, sweepOne);
      return { sessions: swept.flat(), more };
    },
  };
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
    "authorize must return the principal that the session belongs to, or nothing.",
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
