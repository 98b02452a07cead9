import { detach } from "@durable-mcp/core/internal";
import type { Principal, SessionStore } from "@durable-mcp/core";
import {
  endpointOf,
  isStateful,
  type McpClientConnection,
} from "../connection/define-connection.ts";
import type { DurableSessionEvent } from "./durable-session-event.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { createNamedInStore, type OpenedSlots } from "./named-in-store.ts";
import type { NamedSlots } from "../slots/named-slots.ts";
import { recordKey, recordOwner } from "./slot-record.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { SlotName } from "../slots/slot-name.ts";
import { loadStoredSlot, type StoredSlot } from "./stored-slot.ts";
import { storeFailed } from "./stored-records.ts";

/** The slots of all stateful connections of one step, and their records. */
export interface StepSlots {
  readonly of: (connection: string) => StoredSlot;
  readonly named: NamedSlots;
  /** @throws why a session could not be saved, if so */
  throwIfNotSaved(): void;
  /**
   * Writes what changed and waits until the sessions that nobody will use are ended. What the store
   * does not do is reported.
   */
  close(): Promise<void>;
}

/**
 * Loads the records of an agent session, and marks its sessions as used until `close`.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function loadStepSlots({
  store,
  agent,
  sessionId,
  principal,
  declared,
  touchIntervalMs,
  pool,
  emit,
  now,
}: {
  store: SessionStore;
  agent: string | null;
  sessionId: string;
  principal: Principal;
  declared: Record<string, McpClientConnection>;
  touchIntervalMs: number;
  pool: SessionPool | undefined;
  emit: (event: DurableSessionEvent) => void;
  now: () => number;
}): Promise<StepSlots> {
  const keyOf = (slot: SlotName, user: Principal) => recordKey({ agent, sessionId, ...slot }, user);
  const load = async (
    slot: SlotName,
    user: Principal,
    definition: McpClientConnection,
    idleTimeoutMs?: number,
  ) => {
    const { connection } = slot;
    return await loadStoredSlot({
      store,
      key: keyOf(slot, user),
      owner: recordOwner(user),
      url: endpointOf(definition),
      touchIntervalMs,
      idleTimeoutMs,
      createSlot: pool && ((snapshot) => pool.createSlot(slot, user, definition, snapshot)),
      end: (snapshot) => endMcpSession({ definition, connection, principal: user, snapshot, now }),
      emit: (event) => emit({ ...event, ...slot }),
      now,
    });
  };
  const loading = Object.entries(declared)
    .filter(([, definition]) => isStateful(definition))
    .map(async ([connection, definition]) => {
      return [connection, await load({ connection }, principal, definition)] as const;
    });
  // All of them, also when one fails: what the others have taken from the pool is given back then.
  await Promise.allSettled(loading);
  const unnamed = new Map(await Promise.all(loading));
  /** By key. */
  const slots = new Map<string, { slot: SlotName; owner: string; stored: StoredSlot }>();
  const hold = (slot: SlotName, user: Principal, stored: StoredSlot) =>
    slots.set(keyOf(slot, user), { slot, owner: recordOwner(user), stored });
  for (const [connection, stored] of unnamed) hold({ connection }, principal, stored);

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
  let isClosed = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  const keepUsed = () => {
    if (slots.size === 0 || timer !== undefined || isClosed) return;
    timer = setInterval(touchAll, touchIntervalMs);
    // In Node a lease that is forgotten is not to keep the process; elsewhere it is a number.
    detach(timer);
  };
  keepUsed();

  const opened: OpenedSlots = {
    async load(slot, { principal: user, definition, idleTimeoutMs }) {
      const stored = await load(slot, user, definition, idleTimeoutMs);
      if (isClosed) {
        pool?.release(stored.slot);
        throw registryDisposed(slot.connection);
      }
      hold(slot, user, stored);
      keepUsed();
      return stored;
    },
    find: (key) => slots.get(key)?.stored,
    of(user) {
      const owner = recordOwner(user);
      return [...slots.values()].flatMap(({ slot: { connection, name }, ...held }) =>
        name !== undefined && held.owner === owner
          ? [{ slot: { connection, name }, stored: held.stored }]
          : [],
      );
    },
    forget: (key) => void slots.delete(key),
    closeKept: (slot, user) => pool?.evict(slot, user),
  };

  return {
    of: (connection) => unnamed.get(connection)!,
    named: createNamedInStore({ store, agent, sessionId, opened, touchIntervalMs, emit, now }),
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
}
