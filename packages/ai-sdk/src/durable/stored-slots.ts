import type { Principal } from "@durable-mcp/core";
import { isStateful, type McpClientConnection } from "../connection/define-connection.ts";
import type { NamedSlots } from "../slots/named-slots.ts";
import { createNamedInStore } from "./named-in-store.ts";
import { createOpenedSlots, loadSlot, type SlotsOptions } from "./opened-slots.ts";
import type { StoredSlot } from "./stored-slot.ts";

/** The slots of all stateful connections of one step, and their records. */
export interface StepSlots {
  readonly of: (connection: string) => StoredSlot;
  readonly named: NamedSlots;
  /** @throws the error of a session that could not be saved */
  throwIfNotSaved(): void;
  /**
   * Writes the changes and waits until the sessions without a user are ended. A failure of the store is
   * reported as an event.
   */
  close(): Promise<void>;
}

/**
 * Loads the records of an agent session, and marks its sessions as used until `close`.
 *
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function loadStepSlots({
  principal,
  declared,
  ...options
}: SlotsOptions & {
  principal: Principal;
  declared: Record<string, McpClientConnection>;
}): Promise<StepSlots> {
  const loading = Object.entries(declared)
    .filter(([, definition]) => isStateful(definition))
    .map(async ([connection, definition]) => {
      const use = { principal, definition };
      return [connection, await loadSlot(options, { connection }, use)] as const;
    });
  // Waits for all even if one fails, because the caller then returns their clients to the pool.
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
