import type { Principal, StoredRecord } from "@durable-mcp/core";
import { inParallel } from "../base/in-parallel.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { findDeclared } from "../connection/mcp-connection.ts";
import { describeKept, overdueSession } from "../slots/kept-session.ts";
import type { ListedSession, NamedSlots, NamedUse } from "../slots/named-slots.ts";
import type { NamedSlot } from "../slots/slot-name.ts";
import { endRecord } from "./end-record.ts";
import {
  checkIdleMs,
  leastIdleMs,
  namedRecordPrefix,
  parseRecord,
  parseRecordKey,
  recordKey,
  recordOwner,
} from "./slot-record.ts";
import type { OpenedSlots, SlotsOptions } from "./opened-slots.ts";
import { forgetToolList, listAll, storeFailed } from "./stored-records.ts";

/** How many sessions are ended at a time. */
const endedAtOnce = 10;

interface NamedInStoreOptions extends SlotsOptions {
  opened: OpenedSlots;
}

/** The named sessions that a store has of an agent session. */
export function createNamedInStore(options: NamedInStoreOptions): NamedSlots {
  const { store, agent, sessionId, opened, touchIntervalMs, now } = options;
  const keyOf = (slot: NamedSlot, principal: Principal) =>
    recordKey({ agent, sessionId, ...slot }, principal);
  /** By principal: for each session that is being ended, under its key, when that is over. */
  const visits = new Map<string, Promise<ReadonlyMap<string, Promise<void>>>>();
  const endings = new Set<Promise<unknown>>();

  return {
    async open(slot, use) {
      const { principal, idleTimeoutMs } = use;
      if (idleTimeoutMs !== undefined) checkIdleMs(idleTimeoutMs, "idleTimeoutMs", touchIntervalMs);
      const key = keyOf(slot, principal);
      const idle = await visits.get(recordOwner(principal));
      await idle?.get(key);
      opened.forget(key);
      return await opened.load(slot, use);
    },

    async list(principal) {
      const records = await namedRecords(options, principal);
      const stored = records.map(({ record, slot }): ListedSession => {
        return { ...slot, ...describeKept(parseRecord(record.value), record.lastUsedAt) };
      });
      const keys = new Set(records.map(({ slot }) => keyOf(slot, principal)));
      // A verdict such as "sessionless" is only written at the end of the step.
      const unwritten = opened.of(principal).flatMap(({ slot, stored: { slot: own } }) => {
        const { snapshot } = own;
        if (snapshot === undefined || keys.has(keyOf(slot, principal))) return [];
        return [{ ...slot, ...describeKept({ snapshot }, now()) }];
      });
      return [...stored, ...unwritten];
    },

    async end(slot, { principal, definition, mode }) {
      const key = keyOf(slot, principal);
      await opened.find(key)?.settle();
      opened.forget(key);
      const found = await store.get(key);
      const stored = found && { ...found, key };
      const ended =
        stored && (await endRecord({ store, stored, definition, principal, mode, now }));
      return ended ?? { ...slot, sessionId, ended: true, removed: true };
    },

    async clearTools(slot, principal) {
      const key = keyOf(slot, principal);
      await opened.find(key)?.close();
      opened.forget(key);
      // A pooled client on the session knows the list.
      opened.closeKept(slot, principal);
      const stored = await store.get(key);
      if (stored) await forgetToolList({ store, key, stored, principal, now });
    },

    endIdle(principal, declared) {
      const owner = recordOwner(principal);
      if (visits.has(owner)) return;
      const visit = beginEndingIdle(options, principal, declared);
      visits.set(
        owner,
        visit.then(({ over }) => over),
      );
      endings.add(visit.then(({ all }) => all));
    },

    async endStep() {
      await Promise.all(endings);
    },
  };
}

async function namedRecords(
  { store, agent, sessionId }: SlotsOptions,
  principal: Principal,
  idleSince?: number,
): Promise<{ record: StoredRecord; slot: NamedSlot }[]> {
  const prefix = namedRecordPrefix(agent, sessionId);
  const records = await listAll(store, { prefix, owner: recordOwner(principal), idleSince });
  return records.flatMap((record) => {
    const { connection, name } = parseRecordKey(record.key) ?? {};
    if (connection === undefined || name === undefined) return [];
    return [{ record, slot: { connection, name } }];
  });
}

/** A session whose idle time-out is up. */
interface Overdue extends NamedUse {
  readonly key: string;
  readonly slot: NamedSlot;
  readonly record: StoredRecord;
}

/**
 * Begins to end the sessions whose idle time-out is up. Never rejects.
 *
 * @returns when each is over, under its key, and when all are
 */
async function beginEndingIdle(
  options: SlotsOptions,
  principal: Principal,
  declared: Readonly<Record<string, McpClientConnection>>,
) {
  const { emit } = options;
  const overdue = await findOverdue(options, principal, declared).catch((cause: unknown) => {
    const [connection = ""] = Object.keys(declared);
    emit({ ...storeFailure(cause), connection });
    return [];
  });
  const over = new Map(overdue.map(({ key }) => [key, Promise.withResolvers<void>()]));
  const all = inParallel(overdue, endedAtOnce, async (session) => {
    try {
      await endOverdue(options, session);
    } catch (cause) {
      emit({ ...storeFailure(cause), ...session.slot });
    }
    over.get(session.key)!.resolve();
  });
  return { over: new Map([...over].map(([key, { promise }]) => [key, promise])), all };
}

function storeFailure(cause: unknown) {
  const error = storeFailed("close", cause);
  return { type: "store-failed", operation: "close", error } as const;
}

async function findOverdue(
  options: SlotsOptions,
  principal: Principal,
  declared: Readonly<Record<string, McpClientConnection>>,
): Promise<Overdue[]> {
  const { agent, sessionId, touchIntervalMs, now } = options;
  const time = now();
  const records = await namedRecords(options, principal, time - leastIdleMs(touchIntervalMs));
  return records.flatMap(({ record, slot }) => {
    const definition = findDeclared(declared, slot.connection);
    const kept = parseRecord(record.value);
    if (!definition || !kept) return [];
    if (!overdueSession(kept, record.lastUsedAt, definition, time)) return [];
    const key = recordKey({ agent, sessionId, ...slot }, principal);
    return [{ key, slot, record, principal, definition }];
  });
}

async function endOverdue(
  { store, emit, now }: SlotsOptions,
  { slot, record, principal, definition }: Overdue,
): Promise<void> {
  const use = { store, stored: record, definition, principal, mode: "idle", now } as const;
  const { reason, status } = (await endRecord(use)) ?? {};
  if (reason === undefined || reason === "undeclared") return;
  emit({ type: "not-ended", ...slot, reason, ...(status !== undefined && { status }) });
}
