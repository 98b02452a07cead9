import { detach } from "@durable-mcp/core/internal";
import type { Principal, SessionStore } from "@durable-mcp/core";
import {
  endpointOf,
  isStateful,
  type McpClientConnection,
} from "../connection/define-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { endMcpSession } from "../http/end-mcp-session.ts";
import { createNamedInStore, type OpenedSlots } from "./named-in-store.ts";
import type { NamedSlots, NamedStart } from "../slots/named-slots.ts";
import { recordKey, recordOwner } from "./slot-record.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import type { SessionPool } from "../pool/session-pool.ts";
import type { NamedSlot, SlotName } from "../slots/slot-name.ts";
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

/** Whose the slots of a step are, and where their records are kept. */
interface StepSlotsOptions {
  store: SessionStore;
  agent: string | null;
  sessionId: string;
  principal: Principal;
  declared: Record<string, McpClientConnection>;
  touchIntervalMs: number;
  pool: SessionPool | undefined;
  emit: (event: ConnectionEvent) => void;
  now: () => number;
}

/**
 * Loads the records of an agent session, and marks its sessions as used until `close`.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function loadStepSlots(options: StepSlotsOptions): Promise<StepSlots> {
  const { principal, declared } = options;
  const loading = Object.entries(declared)
    .filter(([, definition]) => isStateful(definition))
    .map(async ([connection, definition]) => {
      return [connection, await load(options, { connection }, { principal, definition })] as const;
    });
  // All of them, also when one fails: what the others have taken from the pool is given back then.
  await Promise.allSettled(loading);
  const unnamed = new Map(await Promise.all(loading));
  const opened = createOpenedSlots(options);
  for (const [connection, stored] of unnamed) opened.hold({ connection }, principal, stored);
  return {
    of: (connection) => unnamed.get(connection)!,
    named: createNamedInStore({ ...options, opened }),
    throwIfNotSaved: () => opened.throwIfNotSaved(),
    close: () => opened.close(),
  };
}

async function load(
  { store, agent, sessionId, touchIntervalMs, pool, emit, now }: StepSlotsOptions,
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
function createOpenedSlots(options: StepSlotsOptions) {
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
      // In Node a lease that is forgotten is not to keep the process; elsewhere it is a number.
      detach(timer);
    },
    async load(slot: NamedSlot, use: NamedStart) {
      const stored = await load(options, slot, use);
      if (isClosed) {
        pool?.release(stored.slot);
        throw registryDisposed(slot.connection);
      }
      opened.hold(slot, use.principal, stored);
      return stored;
    },
    find: (key: string) => slots.get(key)?.stored,
    of(principal: Principal) {
      const owner = recordOwner(principal);
      return [...slots.values()].flatMap(({ slot: { connection, name }, ...held }) =>
        name !== undefined && held.owner === owner
          ? [{ slot: { connection, name }, stored: held.stored }]
          : [],
      );
    },
    forget: (key: string) => void slots.delete(key),
    closeKept: (slot: NamedSlot, principal: Principal) => pool?.evict(slot, principal),
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
  } satisfies OpenedSlots & Record<string, unknown>;
  return opened;
}
