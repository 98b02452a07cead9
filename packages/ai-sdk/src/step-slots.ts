import type { Principal, SessionStore } from "@durable-mcp/core";
import { isStateful, type McpClientConnection } from "./define-connection.ts";
import type { DurableSessionEvent } from "./durable-session-event.ts";
import { endMcpSession } from "./end-mcp-session.ts";
import { recordKey, recordOwner } from "./session-record.ts";
import { loadStoredSlot, type StoredSlot } from "./stored-slot.ts";
import { storeFailed } from "./store-failed.ts";

/** The slots of all stateful connections of one step, and their records. */
export interface StepSlots {
  readonly of: (connection: string) => StoredSlot;
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
  emit,
  now,
}: {
  store: SessionStore;
  agent: string | null;
  sessionId: string;
  principal: Principal;
  declared: Record<string, McpClientConnection>;
  touchIntervalMs: number;
  emit: (event: DurableSessionEvent) => void;
  now: () => number;
}): Promise<StepSlots> {
  const loading = Object.entries(declared)
    .filter(([, definition]) => isStateful(definition))
    .map(async ([connection, definition]) => {
      const slot = await loadStoredSlot({
        store,
        key: recordKey({ agent, sessionId, connection }, principal),
        owner: recordOwner(principal),
        url: new URL(definition.options.url).href,
        touchIntervalMs,
        end: (snapshot) => endMcpSession({ definition, connection, principal, snapshot, now }),
        emit: (event) => emit({ ...event, connection }),
        now,
      });
      return [connection, slot] as const;
    });
  const slots = new Map(await Promise.all(loading));

  const forAll = async (operation: "close" | "touch", use: (slot: StoredSlot) => Promise<void>) => {
    const uses = [...slots].map(async ([connection, slot]) => {
      try {
        await use(slot);
      } catch (cause) {
        emit({ type: "store-failed", connection, operation, error: storeFailed(operation, cause) });
      }
    });
    await Promise.all(uses);
  };

  const touchAll = () => void forAll("touch", (slot) => slot.touch());
  const timer = slots.size > 0 ? setInterval(touchAll, touchIntervalMs) : undefined;
  // In Node a lease that is forgotten is not to keep the process; elsewhere it is a number.
  (timer as { unref?: () => void } | undefined)?.unref?.();

  return {
    of: (connection) => slots.get(connection)!,
    throwIfNotSaved() {
      for (const { saveFailure } of slots.values())
        if (saveFailure !== undefined) throw saveFailure;
    },
    async close() {
      clearInterval(timer);
      await Promise.all([...slots.values()].map((slot) => slot.settle()));
      await forAll("close", (slot) => slot.close());
    },
  };
}
