import type { Principal, StoredRecord } from "@durable-mcp/core";
import { abortable } from "@durable-mcp/core/internal";
import { inParallel } from "../base/in-parallel.ts";
import { trackWork } from "../base/open-work.ts";
import { isStateful, type McpClientConnection } from "../connection/define-connection.ts";
import { findDeclared } from "../connection/mcp-connection.ts";
import { describeKept, overdueSession } from "../slots/kept-session.ts";
import type { ListedSession, NamedSlots } from "../slots/named-slots.ts";
import type { NamedSlot, SlotName } from "../slots/step-slot.ts";
import { endRecord } from "./end-record.ts";
import type { OpenedSlots } from "./opened-slots.ts";
import type { StepContext } from "./sessions-context.ts";
import {
  checkIdleMs,
  describeValue,
  namedRecordPrefix,
  parseRecord,
  type RecordName,
  recordKey,
  recordName,
  recordOwner,
  whoseRecord,
} from "./slot-record.ts";
import { forgetToolList, listAll, storeFailed } from "./stored-records.ts";

/** The named sessions of an agent session in a store. */
export function createNamedInStore(context: StepContext, opened: OpenedSlots): NamedSlots {
  const { store, touchIntervalMs, carried, abortSignal } = context;
  const nameOf = (slot: SlotName): RecordName => recordName(context, slot);
  const keyOf = (slot: SlotName, principal: Principal) => recordKey(nameOf(slot), principal);
  /** By principal. */
  const visits = new Map<string, ReturnType<typeof beginEndingIdle>>();
  let lookAtEnd: (() => void) | undefined;

  const named: NamedSlots = {
    keepsShared: carried === undefined,

    async open(slot, use) {
      const { principal, idleTimeoutMs } = use;
      if (idleTimeoutMs !== undefined) checkIdleMs(idleTimeoutMs, "idleTimeoutMs", touchIntervalMs);
      const key = keyOf(slot, principal);
      const endings = await abortable(
        Promise.resolve(visits.get(recordOwner(principal))),
        abortSignal,
      );
      await abortable(Promise.resolve(endings?.get(key)), abortSignal);
      opened.forget(key);
      return await opened.load(slot, use);
    },

    list: async (principal) => await listNamed(context, opened, principal),

    async end(slot, use) {
      const key = keyOf(slot, use.principal);
      await opened.find(key)?.settle();
      opened.forget(key);
      const stored = await store.get(key);
      const ended = stored && (await endRecord(context, nameOf(slot), stored, use));
      return ended ?? { ...whoseRecord(nameOf(slot)), ended: true, removed: true };
    },

    async clearTools(slot, principal) {
      const key = keyOf(slot, principal);
      await opened.find(key)?.close();
      opened.forget(key);
      const stored = await store.get(key);
      if (stored) await forgetToolList(context, nameOf(slot), stored, principal);
    },

    beginStep(principal, declared) {
      opened.begin();
      // Nothing of another connection lasts under a name.
      const own = opened.of(principal).filter(({ of }) => isStateful(declared[of.connection]!));
      const look = () => named.endIdle(principal, declared);
      if (carried !== undefined) return look();
      const isUnknown = () => own.length > 0 && own.every(({ slot }) => !slot.snapshot);
      if (own.some(({ isLookDue }) => isLookDue)) look();
      // Without any record nothing says when the last look was, in the next step either.
      else lookAtEnd = () => void (isUnknown() && look());
    },

    endIdle(principal, declared) {
      const owner = recordOwner(principal);
      if (visits.has(owner)) return;
      const beginning = beginEndingIdle(context, principal, declared);
      visits.set(owner, beginning);
      const all = beginning.then((endings) => Promise.all(endings.values()));
      trackWork(all, context.work.track, context.provider.work.track);
    },

    endStep() {
      opened.end();
      lookAtEnd?.();
    },
  };
  return named;
}

async function listNamed(
  context: StepContext,
  opened: OpenedSlots,
  principal: Principal,
): Promise<ListedSession[]> {
  const records = await abortable(namedRecords(context, principal), context.abortSignal);
  const stored = records.map(({ record: { value, lastUsedAt }, slot }) => ({
    ...slot,
    ...describeValue(value, lastUsedAt),
  }));
  const keyOf = (slot: SlotName) => recordKey(recordName(context, slot), principal);
  const keys = new Set(records.map(({ slot }) => keyOf(slot)));
  // A verdict such as "sessionless" is only written at the end of the step.
  const unwritten = opened.of(principal).flatMap(({ of: { connection, name }, key, slot }) => {
    const { snapshot } = slot;
    if (name === undefined || snapshot === undefined || keys.has(key)) return [];
    return [{ connection, name, ...describeKept({ snapshot }, context.now()) }];
  });
  return [...stored, ...unwritten];
}

async function namedRecords(
  { store, agent, sessionId }: StepContext,
  principal: Principal,
  idleSince?: number,
): Promise<{ record: StoredRecord; slot: NamedSlot }[]> {
  const prefix = namedRecordPrefix(agent, sessionId);
  const { records } = await listAll(store, { prefix, owner: recordOwner(principal), idleSince });
  return records.flatMap((record) => {
    const { connection, name } = record.of;
    return name === undefined ? [] : [{ record, slot: { connection, name } }];
  });
}

/** Begins to end the idle sessions. Never rejects. @returns the end of each, under its key */
async function beginEndingIdle(
  context: StepContext,
  principal: Principal,
  declared: Readonly<Record<string, McpClientConnection>>,
): Promise<ReadonlyMap<string, Promise<void>>> {
  const { agent, sessionId, emit } = context;
  const overdue = await findOverdue(context, principal, declared).catch((cause: unknown) => {
    const [connection = ""] = Object.keys(declared);
    emit({ ...storeFailed("close", cause), connection });
    return [];
  });
  const endings = overdue.map((found) => {
    const name = { agent, sessionId, ...found.slot };
    return { ...found, name, over: Promise.withResolvers<void>() };
  });
  void inParallel(endings, async ({ name, slot, record, definition, over }) => {
    try {
      const use = { definition, principal, mode: "idle" } as const;
      const { reason, status } = (await endRecord(context, name, record, use)) ?? {};
      if (reason !== undefined && reason !== "undeclared" && reason !== "newer") {
        emit({ type: "not-ended", ...slot, reason, ...(status !== undefined && { status }) });
      }
    } catch (cause) {
      emit({ ...storeFailed("close", cause), ...slot });
    }
    over.resolve();
  });
  return new Map(endings.map(({ name, over }) => [recordKey(name, principal), over.promise]));
}

async function findOverdue(
  context: StepContext,
  principal: Principal,
  declared: Readonly<Record<string, McpClientConnection>>,
) {
  const time = context.now();
  const idleSince = Math.max(0, time - context.maybeInUseMs);
  const records = await namedRecords(context, principal, idleSince);
  return records.flatMap(({ record, slot }) => {
    const definition = findDeclared(declared, slot.connection);
    const kept = parseRecord(record.value);
    if (!definition || !kept) return [];
    const isOverdue = overdueSession(kept, record.lastUsedAt, definition, time) !== undefined;
    return isOverdue ? [{ record, slot, definition }] : [];
  });
}
