import type { ConnectionEvent } from "../events/connection-event.ts";
import { type SlotName, slotName } from "../slots/step-slot.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";

/** A registry among those that take each other's place: what it has to do with the ones before and after. */
export interface Successor {
  /** Whether the contents of a connection, or of a name of it, ended with a registry before. */
  readonly isAfterEnd: (slot: SlotName) => boolean;
  /** Called when a connection, or a name of it, has something that ends with this registry. */
  readonly started: (slot: SlotName) => void;
}

/** Why a registry is closed. Of an end that the application asked for nobody needs to be told. */
export type CloseReason = "idle" | "exit" | "asked";

export interface ClosableRegistry {
  readonly registry: ConnectionRegistry<any>;
  readonly close: () => Promise<void>;
}

/**
 * Opens registries that take each other's place. The model is told, in a connection's first result, what
 * ended with the registries before.
 *
 * @param open opens the next registry
 */
export function createSuccession(
  open: (successor: Successor) => Promise<ClosableRegistry>,
  emit: (event: ConnectionEvent) => void,
) {
  const ended = new Set<string>();
  return async () => {
    const own = new Map<string, SlotName>();
    const { registry, close } = await open({
      isAfterEnd: (slot) => ended.has(slotName(slot)),
      started: (slot) => void own.set(slotName(slot), slot),
    });
    return {
      registry,
      async close(reason: CloseReason): Promise<void> {
        if (reason === "asked") ended.clear();
        for (const [key, slot] of reason === "asked" ? [] : own) {
          ended.add(key);
          if (reason === "idle") emit({ type: "ended", ...slot, reason });
        }
        await close();
      },
    };
  };
}
