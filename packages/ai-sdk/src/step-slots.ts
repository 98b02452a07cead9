import type { Principal, SessionStore } from "@durable-mcp/core";
import { isStateful, type McpClientConnection } from "./define-connection.ts";
import type { DurableSessionEvent } from "./durable-session-event.ts";
import { endMcpSession } from "./end-mcp-session.ts";
import { recordKey, recordOwner } from "./session-record.ts";
import { registryDisposed } from "./registry-disposed.ts";
import type { RunPool } from "./run-pool.ts";
import type { SlotName } from "./slot-name.ts";
import { loadStoredSlot, type StoredSlot } from "./stored-slot.ts";
import { storeFailed } from "./store-failed.ts";

/** The slots of all stateful connections of one step, and their records. */
export interface StepSlots {
  readonly of: (connection: string) => StoredSlot;
  /**
   * Loads that of a named session, too.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  readonly named: (
    slot: SlotName,
    principal: Principal,
    definition: McpClientConnection,
  ) => Promise<StoredSlot>;
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
  pool: RunPool | undefined;
  emit: (event: DurableSessionEvent) => void;
  now: () => number;
}): Promise<StepSlots> {
  const load = async (slot: SlotName, user: Principal, definition: McpClientConnection) => {
    const { connection } = slot;
    return await loadStoredSlot({
      store,
      key: recordKey({ agent, sessionId, ...slot }, user),
      owner: recordOwner(user),
      url: new URL(definition.options.url).href,
      touchIntervalMs,
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
  const unnamed = new Map(await Promise.all(loading));
  const slots: (SlotName & { readonly stored: StoredSlot })[] = [...unnamed].map(
    ([connection, stored]) => ({ connection, stored }),
  );

  const forAll = async (operation: "close" | "touch", use: (slot: StoredSlot) => Promise<void>) => {
    const uses = slots.map(async ({ stored, ...slot }) => {
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
    if (slots.length === 0 || timer !== undefined) return;
    timer = setInterval(touchAll, touchIntervalMs);
    // In Node a lease that is forgotten is not to keep the process; elsewhere it is a number.
    (timer as { unref?: () => void }).unref?.();
  };
  keepUsed();

  return {
    of: (connection) => unnamed.get(connection)!,
    async named(slot, user, definition) {
      const stored = await load(slot, user, definition);
      if (isClosed) throw registryDisposed(slot.connection);
      slots.push({ ...slot, stored });
      keepUsed();
      return stored;
    },
    throwIfNotSaved() {
      for (const { stored } of slots)
        if (stored.saveFailure !== undefined) throw stored.saveFailure;
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      await Promise.all(slots.map(({ stored }) => stored.settle()));
      await forAll("close", (slot) => slot.close());
    },
  };
}
