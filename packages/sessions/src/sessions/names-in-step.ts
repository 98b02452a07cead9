import type { Principal } from "@durable-mcp/core";
import { abortable } from "@durable-mcp/core/internal";
import { trackWork } from "../base/open-work.ts";
import type { McpClientConnection } from "../declare/define-connection.ts";
import { findDeclared } from "../declare/mcp-connection.ts";
import {
  checkIdleMs,
  describeValue,
  isOverdue,
  type ListedRecord,
  namedRecordPrefix,
  type RecordName,
  recordKey,
  recordName,
  recordOwner,
  whoseRecord,
} from "../records/slot-record.ts";
import { listAll } from "../records/stored-records.ts";
import { describeKept } from "../records/kept-session.ts";
import type { ListedSession, NamedSlots } from "../records/named-slots.ts";
import type { SlotName } from "../records/step-slot.ts";
import type { OpenedSlots } from "./opened-slots.ts";
import type { StepContext } from "./sessions-context.ts";

/** The named sessions of an agent session in one step, in a store or a state. */
export function createNamesInStep(context: StepContext, opened: OpenedSlots): NamedSlots {
  const { store, touchIntervalMs, carried, abortSignal } = context;
  const nameOf = (slot: SlotName): RecordName => recordName(context, slot);
  const keyOf = (slot: SlotName, principal: Principal) => recordKey(nameOf(slot), principal);
  /** The ends of a principal's idle sessions, under their keys. */
  const idle = new Map<string, Promise<ReadonlyMap<string, Promise<unknown>>>>();

  const named: NamedSlots = {
    keepsShared: carried === undefined,

    async open(slot, use) {
      const { principal, idleTimeoutMs } = use;
      if (idleTimeoutMs !== undefined) checkIdleMs(idleTimeoutMs, "idleTimeoutMs", touchIntervalMs);
      const key = keyOf(slot, principal);
      const ending = async () => (await idle.get(recordOwner(principal)))?.get(key);
      await abortable(ending(), abortSignal);
      opened.forget(key);
      return await opened.load(slot, use);
    },

    async list(principal) {
      const records = await abortable(namedRecords(context, principal), abortSignal);
      const stored = records.flatMap(({ of: { connection, name }, value, lastUsedAt }) =>
        name === undefined ? [] : [{ connection, name, ...describeValue(value, lastUsedAt) }],
      );
      const keys = new Set(records.map(({ of }) => recordKey(of, principal)));
      // A verdict such as "sessionless" is only written at the end of the step.
      const unwritten = opened.of(principal).flatMap(({ of, key, slot }): ListedSession[] => {
        const { connection, name } = of;
        const { snapshot } = slot;
        if (name === undefined || snapshot === undefined || keys.has(key)) return [];
        return [{ connection, name, ...describeKept({ snapshot }, context.now()) }];
      });
      return [...stored, ...unwritten];
    },

    async end(slot, use) {
      const key = keyOf(slot, use.principal);
      await opened.find(key)?.settle();
      opened.forget(key);
      const stored = await store.get(key);
      const { endRecord } = await import("../records/end-record.ts");
      const ended = stored && (await endRecord(context, nameOf(slot), stored, use));
      return ended ?? { ...whoseRecord(nameOf(slot)), ended: true, removed: true };
    },

    beginStep(principal, declared) {
      opened.begin();
      named.endIdle(principal, declared);
    },

    endIdle(principal, declared) {
      const owner = recordOwner(principal);
      // A store is swept. Nobody sweeps a state.
      if (carried === undefined || idle.has(owner)) return;
      const beginning = beginEndingIdle(context, principal, declared);
      idle.set(owner, beginning);
      const all = beginning.then((endings) => Promise.all(endings.values()));
      trackWork(all, context.work.track);
    },

    endStep: opened.end,
  };
  return named;
}

async function namedRecords(
  { store, agent, sessionId }: StepContext,
  principal: Principal,
): Promise<readonly ListedRecord[]> {
  const prefix = namedRecordPrefix(agent, sessionId);
  const { records } = await listAll(store, { prefix, owner: recordOwner(principal) });
  return records;
}

/** Begins to end the idle sessions of a state. @returns the end of each, under its key */
async function beginEndingIdle(
  context: StepContext,
  principal: Principal,
  declared: Readonly<Record<string, McpClientConnection>>,
): Promise<ReadonlyMap<string, Promise<void>>> {
  const end = async (record: ListedRecord, definition: McpClientConnection) => {
    const { endRecord } = await import("../records/end-record.ts");
    const use = { definition, principal, mode: "idle" } as const;
    const { reason, status } = (await endRecord(context, record.of, record, use)) ?? {};
    if (reason === undefined || reason === "undeclared" || reason === "newer") return;
    const { connection, name } = record.of;
    const why = { reason, ...(status !== undefined && { status }) };
    context.emit({ type: "not-ended", connection, name, ...why });
  };
  const endings = (await namedRecords(context, principal)).flatMap((record) => {
    const definition = findDeclared(declared, record.of.connection);
    if (definition === undefined || !isOverdue(record, context.now())) return [];
    return [[recordKey(record.of, principal), end(record, definition)] as const];
  });
  return new Map(endings);
}
