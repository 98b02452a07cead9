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
import type { EndedSession } from "../slots/session-reports.ts";
import type { DurableSessionsAdmin, SweepAuthorization } from "./durable-sessions-admin.ts";
import { endRecord, removeRecord } from "./end-record.ts";
import { adminListSchema, sweepSchema } from "./option-schemas.ts";
import type { SessionsContext } from "./sessions-context.ts";
import {
  checkIdleMs,
  describeRecord,
  type ListedRecord,
  parseRecordOwner,
  recordKey,
  recordPrefix,
  whoseRecord,
} from "./slot-record.ts";
import { listRecords } from "./stored-records.ts";
import { deleteUnusedCalls, type ListedCall } from "../waiting/waiting-records.ts";

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

    async sweep(options) {
      const {
        idleForMs,
        name,
        shared,
        limit = 100,
        authorize,
      } = checkOptions(sweepSchema, options);
      checkIdleMs(idleForMs, "idleForMs", touchIntervalMs);
      const idleSince = Math.max(0, now() - Math.max(idleForMs, maybeInUseMs));
      const query = { name, shared, prefix: recordPrefix(agent), idleSince, limit };
      const [idle, waiting]: [ListedRecord[], ListedCall[]] = [[], []];
      let cursor: string | undefined;
      let left = limit;
      do {
        const page = await listRecords(store, { ...query, cursor });
        idle.push(...page.records.filter(isOfThisRelease));
        waiting.push(...page.waiting.filter(isOfThisRelease));
        ({ cursor } = page);
        left = limit - idle.length - waiting.length;
        // A page may have no record that is wanted.
      } while (cursor !== undefined && left > 0);
      const sweeping = idle.slice(0, limit);
      const [swept, waitingCalls] = await Promise.all([
        inParallel(sweeping, async (stored) => {
          const ended = await sweepRecord(context, stored, authorize);
          return ended ? [{ owner: stored.owner, ...ended }] : [];
        }),
        deleteUnusedCalls(context, waiting.slice(0, limit - sweeping.length)),
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
  authorize: Parameters<DurableSessionsAdmin["sweep"]>[0]["authorize"],
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
  return await endRecord(context, of, stored, { definition, principal, mode: "sweep" });
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
