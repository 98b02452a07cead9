import {
  McpSessionError,
  type Principal,
  type SessionStore,
  type StoredRecord,
  type StoredValue,
} from "@durable-mcp/core";
import { describeRecord } from "./describe-record.ts";
import { describeSnapshot } from "../slots/describe-snapshot.ts";
import type { DurableSessionEvent } from "./durable-session-event.ts";
import { endRecord } from "./end-record.ts";
import { forgetToolList } from "./forget-tool-list.ts";
import { isIdle } from "../slots/idle-timeout.ts";
import { inParallel } from "../base/in-parallel.ts";
import { listAll } from "./list-all.ts";
import type { KeptSession, NamedSlots, NamedUse } from "../slots/named-slots.ts";
import {
  namedRecordPrefix,
  parseRecord,
  parseRecordKey,
  recordKey,
  recordOwner,
} from "./session-record.ts";
import type { NamedSlot } from "../slots/slot-name.ts";
import type { StoredSlot } from "./stored-slot.ts";
import { storeFailed } from "./store-failed.ts";

/** How many sessions are ended at a time. */
const endedAtOnce = 10;

/** The slots of named sessions that a step has opened. */
export interface OpenedSlots {
  load(
    slot: NamedSlot,
    use: NamedUse & { readonly idleTimeoutMs?: number | undefined },
  ): Promise<StoredSlot>;
  find(key: string): StoredSlot | undefined;
  /** Those of one principal. */
  of(principal: Principal): readonly { readonly slot: NamedSlot; readonly stored: StoredSlot }[];
  /** Nothing of it is written any more. */
  drop(key: string): void;
  /** Lets go of what a pool has on the session. */
  evict(slot: NamedSlot, principal: Principal): void;
}

/** The named sessions that a store has of an agent session. */
export function createNamedInStore({
  store,
  agent,
  sessionId,
  opened,
  touchIntervalMs,
  emit,
  now,
}: {
  store: SessionStore;
  agent: string | null;
  sessionId: string;
  opened: OpenedSlots;
  touchIntervalMs: number;
  emit: (event: DurableSessionEvent) => void;
  now: () => number;
}): NamedSlots {
  const keyOf = (slot: NamedSlot, principal: Principal) =>
    recordKey({ agent, sessionId, ...slot }, principal);
  /** No idle time-out is shorter: sessions in use are marked as used, but not all the time. */
  const leastMs = 3 * touchIntervalMs;
  /** By principal. */
  const visits = new Map<string, Promise<ReadonlyMap<string, Promise<unknown>>>>();
  const endings = new Set<Promise<unknown>>();

  const recordsOf = async (principal: Principal, idleSince?: number) => {
    const prefix = namedRecordPrefix(agent, sessionId);
    const owner = recordOwner(principal);
    const records = await listAll(store, { prefix, owner, idleSince });
    return records.flatMap((stored) => {
      const { connection, name } = parseRecordKey(stored.key) ?? {};
      if (connection === undefined || name === undefined) return [];
      return [{ stored, slot: { connection, name } }];
    });
  };

  const endIdleOne = async (
    slot: NamedSlot,
    stored: StoredRecord,
    { principal, definition }: NamedUse,
  ) => {
    const ended = await endRecord({ store, stored, definition, principal, mode: "idle", now });
    const { reason, status } = ended ?? {};
    if (reason === undefined || reason === "undeclared") return;
    emit({ type: "not-ended", ...slot, reason, ...(status !== undefined && { status }) });
  };

  /** @returns for each that is being ended, under its key, when that is over */
  const visit = async (
    principal: Principal,
    declared: Parameters<NamedSlots["endIdle"]>[1],
  ): Promise<ReadonlyMap<string, Promise<unknown>>> => {
    const time = now();
    const idle = (await recordsOf(principal, time - leastMs)).flatMap(({ stored, slot }) => {
      const definition = Object.hasOwn(declared, slot.connection) && declared[slot.connection];
      const key = keyOf(slot, principal);
      const { snapshot, idleTimeoutMs } = parseRecord(stored.value) ?? {};
      const { lastUsedAt } = stored;
      if (!definition || snapshot?.kind !== "session") return [];
      if (snapshot.url !== new URL(definition.options.url).href) return [];
      return isIdle({ lastUsedAt, idleTimeoutMs }, time) ? [{ key, slot, stored, definition }] : [];
    });
    const over = new Map(idle.map(({ key }) => [key, Promise.withResolvers<void>()] as const));
    const all = inParallel(idle, endedAtOnce, async ({ key, slot, stored, definition }) => {
      const { connection } = slot;
      try {
        await endIdleOne(slot, stored, { principal, definition });
      } catch (cause) {
        const error = storeFailed("close", cause);
        emit({ type: "store-failed", connection, name: slot.name, operation: "close", error });
      }
      over.get(key)!.resolve();
    });
    endings.add(all);
    return new Map([...over].map(([key, { promise }]) => [key, promise]));
  };

  const named: NamedSlots = {
    async open(slot, use) {
      const { principal, idleTimeoutMs } = use;
      if (idleTimeoutMs !== undefined && idleTimeoutMs < leastMs) {
        throw new McpSessionError(
          "CONNECTION_INVALID",
          `idleTimeoutMs must be at least ${leastMs}, three times touchIntervalMs: what is in use is marked as used that often.`,
          { data: { field: "idleTimeoutMs" } },
        );
      }
      const key = keyOf(slot, principal);
      const idle = await visits.get(recordOwner(principal));
      await idle?.get(key);
      opened.drop(key);
      return await opened.load(slot, use);
    },

    async list(principal) {
      const records = await recordsOf(principal);
      const stored = records.flatMap((record) =>
        describeRecord(record.stored).map((described): KeptSession => {
          const { sessionId: _, ...kept } = described;
          return { ...kept, ...record.slot };
        }),
      );
      const keys = new Set(records.map(({ slot }) => keyOf(slot, principal)));
      // What is no session is written at the end of the step.
      const unwritten = opened
        .of(principal)
        .flatMap(({ slot, stored: { slot: own } }) =>
          own.snapshot === undefined || keys.has(keyOf(slot, principal))
            ? []
            : [{ ...slot, ...describeSnapshot(own.snapshot), lastUsedAt: now() }],
        );
      return [...stored, ...unwritten];
    },

    async end(slot, { principal, definition, mode }) {
      const key = keyOf(slot, principal);
      await opened.find(key)?.settle();
      opened.drop(key);
      const stored = await store.get(key);
      if (stored === undefined) return { ...slot, ended: true };
      const kind = parseRecord(stored.value)?.snapshot.kind;
      const hasNone = kind === "sessionless" || kind === "stateless";
      if (hasNone && mode === "restart") return { ...slot, ended: true };
      const ended = await endRecord({
        store,
        stored: { ...stored, key, owner: recordOwner(principal), lastUsedAt: now() },
        definition,
        principal,
        mode,
        now,
      });
      const { reason, status } = ended ?? {};
      return {
        ...slot,
        ended: ended?.ended ?? true,
        ...(status !== undefined && { status }),
        ...(reason !== undefined && { reason }),
      };
    },

    async clearTools(slot, principal) {
      const key = keyOf(slot, principal);
      const own = opened.find(key);
      await own?.close();
      opened.drop(key);
      // One that a pool has on the session knows the list.
      opened.evict(slot, principal);
      const stored: StoredValue | undefined = await store.get(key);
      if (stored) await forgetToolList({ store, key, stored, principal, now });
    },

    endIdle(principal, declared) {
      const owner = recordOwner(principal);
      if (visits.has(owner)) return;
      const visiting = visit(principal, declared).catch((cause: unknown) => {
        const [connection = ""] = Object.keys(declared);
        emit({
          type: "store-failed",
          connection,
          operation: "close",
          error: storeFailed("close", cause),
        });
        return new Map<string, Promise<unknown>>();
      });
      visits.set(owner, visiting);
      endings.add(visiting);
    },

    async endStep() {
      for (const ending of endings) await ending;
    },
  };
  return named;
}
