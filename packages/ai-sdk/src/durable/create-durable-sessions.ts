import { checkMs, guarded, invalidOption } from "@durable-mcp/core/internal";
import type { Principal, StoredRecord } from "@durable-mcp/core";
import {
  clientConnections,
  findDeclared,
  type McpConnection,
  notDeclared,
} from "../connection/mcp-connection.ts";
import type { DurableSessionEvent } from "./durable-session-event.ts";
import type {
  DurableSessions,
  DurableSessionsOptions,
  SessionSelection,
} from "./durable-sessions.ts";
import type { EndMode } from "../slots/kept-session.ts";
import { endRecord } from "./end-record.ts";
import { forgetToolList, listAll } from "./stored-records.ts";
import { inParallel } from "../base/in-parallel.ts";
import { once } from "../base/once.ts";
import { pingSession } from "../http/ping-session.ts";
import { internalsOf } from "../provider/provider-internals.ts";
import { createSessionLease } from "./session-lease.ts";
import {
  checkSessionId,
  describeRecord,
  parseRecord,
  parseRecordKey,
  recordKey,
  recordOwner,
  recordPrefix,
} from "./slot-record.ts";
import { createSessionsAdmin } from "./sessions-admin.ts";
import { checkSessionName } from "../slots/slot-name.ts";
import { runToEndOfStream } from "../streams/run-to-end-of-stream.ts";
import { loadStepSlots } from "./stored-slots.ts";
import type { StoredSession } from "../slots/session-reports.ts";

/** How many records of a principal are read at a time. */
const pageSize = 1_000;
/** How many sessions of a principal are worked on at a time. */
const atOnce = 10;

/**
 * Creates the sessions of an agent, kept in a store. Call it once, at start.
 *
 * @example
 * const sessions = createDurableSessions({ provider, store });
 * await sessions.run(chatId, { principal }, ({ tools }) =>
 *   generateText({ model, tools, prompt, stopWhen: stepCountIs(10) }));
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function createDurableSessions<CONNECTIONS extends Record<string, McpConnection>>({
  provider,
  store,
  agent: ownAgent,
  share = false,
  touchIntervalMs = 60_000,
  onEvent = warnOfStoreFailures,
  now = Date.now,
}: DurableSessionsOptions<CONNECTIONS>): DurableSessions<CONNECTIONS> {
  checkOptions({ agent: ownAgent, share, touchIntervalMs });
  const { declaredFor, createRegistry, track, poolFor, createNamespace } =
    internalsOf<CONNECTIONS>(provider);
  const namespace = createNamespace();
  const agent = share ? null : (ownAgent ?? "default");
  const emit = guarded(onEvent);

  /** The records of an agent session that a principal has. */
  const recordsOf = async (
    sessionId: string,
    { principal, connection, name }: SessionSelection<CONNECTIONS>,
  ): Promise<StoredRecord[]> => {
    checkSessionId(sessionId);
    if (name !== undefined) checkSessionName(name, "name");
    const owner = recordOwner(principal);
    const prefix = recordPrefix(agent, sessionId);
    const records = await listAll(store, { prefix, owner });
    const selected = records.filter(({ key }) => {
      const found = parseRecordKey(key);
      if (found === undefined || (name !== undefined && found.name !== name)) return false;
      return connection === undefined || found.connection === connection;
    });
    if (connection !== undefined && selected.length === 0) {
      const names = Object.keys(declaredFor(principal));
      if (!names.includes(connection)) throw notDeclared(connection, names, "connection");
    }
    return selected;
  };

  const endRecords = async (
    records: readonly StoredRecord[],
    principal: Principal,
    mode: EndMode,
  ) => {
    const declared = clientConnections(declaredFor(principal));
    const ended = await inParallel(records, atOnce, async (stored) => {
      const { connection } = parseRecordKey(stored.key)!;
      const definition = findDeclared(declared, connection);
      return await endRecord({ store, stored, definition, principal, mode, now });
    });
    return ended.filter((result) => result !== undefined);
  };

  const sessions: DurableSessions<CONNECTIONS> = {
    async open(sessionId, { principal, abortSignal }) {
      checkSessionId(sessionId);
      recordOwner(principal);
      abortSignal?.throwIfAborted();
      const declared = declaredFor(principal);
      const pool = poolFor([namespace, agent, sessionId]);
      const begin = async () => {
        const slots = await loadStepSlots({
          store,
          agent,
          sessionId,
          principal,
          declared: clientConnections(declared),
          touchIntervalMs,
          pool,
          emit,
          now,
        });
        try {
          const registry = createRegistry({
            declared,
            principal,
            abortSignal,
            slotFor: slots.of,
            named: slots.named,
            isLeased: true,
            pool,
          });
          return { slots, registry };
        } catch (error) {
          // The provider may have been shut down meanwhile.
          await slots.close();
          throw error;
        }
      };
      const { slots, registry } = await begin().finally(() => pool?.release());
      const close = once(async () => {
        await registry.dispose();
        await slots.close();
        forget();
      });
      const forget = track(close);
      try {
        const tools = await registry.tools();
        slots.throwIfNotSaved();
        return createSessionLease({ sessionId, registry, tools, abortSignal, close });
      } catch (error) {
        await close();
        throw error;
      }
    },

    async run(sessionId, use, step) {
      const lease = await sessions.open(sessionId, use);
      const { tools, registry } = lease;
      const { abortSignal } = use;
      // In its turn: first the calls under way are told to be cancelled.
      const closeEarly = () => queueMicrotask(() => void registry.dispose());
      const run = async (inRun: () => Promise<void>) => {
        abortSignal?.addEventListener("abort", closeEarly, { once: true });
        try {
          await registry.run(inRun);
        } finally {
          abortSignal?.removeEventListener("abort", closeEarly);
          await lease.dispose();
        }
      };
      const { result } = await runToEndOfStream({
        run,
        step: () => step({ tools, registry }),
        abortSignal,
      });
      return result;
    },

    async info(sessionId, selection) {
      return (await recordsOf(sessionId, selection)).flatMap(describeRecord);
    },

    async status(sessionId, { timeoutMs = 5_000, ...selection }) {
      const { principal } = selection;
      const records = await recordsOf(sessionId, selection);
      const declared = clientConnections(declaredFor(principal));
      return await inParallel(records, atOnce, async ({ key, value }) => {
        const { connection, name } = parseRecordKey(key)!;
        const definition = findDeclared(declared, connection);
        const snapshot = parseRecord(value)?.snapshot;
        const session = { definition, connection, principal, snapshot };
        const status = await pingSession({ ...session, timeoutMs, now });
        return { ...status, ...(name !== undefined && { name }) };
      });
    },

    async restart(sessionId, selection) {
      return await endRecords(
        await recordsOf(sessionId, selection),
        selection.principal,
        "restart",
      );
    },

    async clearTools(sessionId, selection) {
      const records = await recordsOf(sessionId, selection);
      const { principal } = selection;
      await inParallel(records, atOnce, async (stored) => {
        const key = recordKey(parseRecordKey(stored.key)!, principal);
        await forgetToolList({ store, key, stored, principal, now });
      });
    },

    async end(sessionId, selection) {
      return await endRecords(await recordsOf(sessionId, selection), selection.principal, "end");
    },

    async list({ principal, name, cursor, limit = 100 }) {
      if (name !== undefined) checkSessionName(name, "name");
      const query = { owner: recordOwner(principal), prefix: recordPrefix(agent), cursor, limit };
      const page = await store.list(query);
      const described = page.records.flatMap(describeRecord);
      const isSelected = (session: StoredSession) => name === undefined || session.name === name;
      return { sessions: described.filter(isSelected), cursor: page.cursor };
    },

    async endAll({ principal }) {
      const owner = recordOwner(principal);
      const results = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({ owner, cursor, limit: pageSize });
        const own = page.records.filter(({ key }) => parseRecordKey(key) !== undefined);
        results.push(...(await endRecords(own, principal, "delete")));
        ({ cursor } = page);
      } while (cursor !== undefined);
      return results;
    },

    admin: createSessionsAdmin({
      store,
      agent,
      declaredFor: (principal) => clientConnections(declaredFor(principal)),
      touchIntervalMs,
      now,
    }),
  };
  return sessions;
}

function checkOptions({
  agent,
  share,
  touchIntervalMs,
}: {
  agent: string | undefined;
  share: boolean;
  touchIntervalMs: number;
}): void {
  if (agent === "") throw invalidOption("agent", "must be a non-empty string");
  if (agent !== undefined && share) {
    throw invalidOption("agent", "cannot be combined with share: shared sessions are of no agent");
  }
  checkMs(touchIntervalMs, "touchIntervalMs");
}

function warnOfStoreFailures(event: DurableSessionEvent): void {
  if (event.type !== "store-failed") return;
  console.warn(`Connection ${event.connection}: ${event.error.message}`);
}
