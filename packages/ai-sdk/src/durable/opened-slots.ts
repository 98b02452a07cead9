import { detach } from "@durable-mcp/core/internal";
import type { Principal, SessionStore } from "@durable-mcp/core";
import { endpointOf } from "../connection/define-connection.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { NamedStart } from "../slots/named-slots.ts";
import type { NamedSlot, SlotName } from "../slots/slot-name.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { recordKey, recordOwner } from "./slot-record.ts";
import { loadStoredSlot, type StoredSlot } from "./stored-slot.ts";
import { storeFailed } from "./stored-records.ts";

/** Where the records of an agent session are kept. */
export interface SlotsOptions {
  store: SessionStore;
  agent: string | null;
  sessionId: string;
  touchIntervalMs: number;
  pool: SessionPool | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}

export type OpenedSlots = ReturnType<typeof createOpenedSlots>;

/** @throws {McpSessionError} `STORE_FAILED` */
export async function loadSlot(
  { store, agent, sessionId, touchIntervalMs, pool, emit, now }: SlotsOptions,
  slot: SlotName,
  { principal, definition, idleTimeoutMs }: NamedStart,
): Promise<StoredSlot> {
  const use = { definition, connection: slot.connection, principal, now };
  return await loadStoredSlot({
    store,
    key: recordKey({ agent, sessionId, ...slot }, principal),
    owner: recordOwner(principal),
    url: endpointOf(definition),
    touchIntervalMs,
    idleTimeoutMs,
    createSlot: pool && ((snapshot) => pool.createSlot(slot, principal, definition, snapshot)),
    end: (snapshot) => endMcpSession({ ...use, snapshot }),
    emit: (event) => emit({ ...event, ...slot }),
    now,
  });
}

/** The slots that a step has opened, by the keys of their records; marked as used until `close`. */
export function createOpenedSlots(options: SlotsOptions) {
  const { agent, sessionId, touchIntervalMs, pool, emit } = options;
  const slots = new Map<string, { slot: SlotName; owner: string; stored: StoredSlot }>();
  let isClosed = false;
  let timer: ReturnType<typeof setInterval> | undefined;

  const forAll = async (operation: "close" | "touch", use: (slot: StoredSlot) => Promise<void>) => {
    const uses = [...slots.values()].map(async ({ stored, slot }) => {
      try {
        await use(stored);
      } catch (cause) {
        emit({ type: "store-failed", ...slot, operation, error: storeFailed(operation, cause) });
      }
    });
    await Promise.all(uses);
  };
  const touchAll = () => void forAll("touch", (slot) => slot.touch());

  const opened = {
    hold(slot: SlotName, principal: Principal, stored: StoredSlot) {
      const key = recordKey({ agent, sessionId, ...slot }, principal);
      slots.set(key, { slot, owner: recordOwner(principal), stored });
      if (timer !== undefined) return;
      timer = setInterval(touchAll, touchIntervalMs);
      // A forgotten lease must not keep a Node process alive.
      detach(timer);
    },
    async load(slot: NamedSlot, use: NamedStart): Promise<StoredSlot> {
      const stored = await loadSlot(options, slot, use);
      if (isClosed) {
        pool?.giveBack(stored.slot);
        throw registryDisposed(slot.connection);
      }
      opened.hold(slot, use.principal, stored);
      return stored;
    },
    find: (key: string) => slots.get(key)?.stored,
    /** The named slots of a principal. */
    of(principal: Principal) {
      const owner = recordOwner(principal);
      return [...slots.values()].flatMap(({ slot: { connection, name }, ...held }) =>
        name !== undefined && held.owner === owner
          ? [{ slot: { connection, name }, stored: held.stored }]
          : [],
      );
    },
    /** Nothing of it is written any more. */
    forget: (key: string) => void slots.delete(key),
    /** Closes what a pool keeps on the session. */
    closeKept: (slot: NamedSlot, principal: Principal) => pool?.close(slot, principal),
    throwIfNotSaved() {
      for (const { stored } of slots.values())
        if (stored.saveFailure !== undefined) throw stored.saveFailure;
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      await Promise.all([...slots.values()].map(({ stored }) => stored.settle()));
      await forAll("close", (slot) => slot.close());
    },
  };
  return opened;
}
