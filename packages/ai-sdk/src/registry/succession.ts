import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";

/** A registry among those that take each other's place: what it has to do with the ones before and after. */
export interface Successor {
  /** Whether the contents of a connection ended with a registry before, and nobody was told. */
  readonly isAfterEnd: (connection: string) => boolean;
  /** Called when a connection has something that ends with this registry. */
  readonly started: (connection: string) => void;
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
    const own = new Set<string>();
    const { registry, close } = await open({
      isAfterEnd: (connection) => ended.has(connection),
      started: (connection) => void own.add(connection),
    });
    return {
      registry,
      async close(reason: CloseReason): Promise<void> {
        if (reason === "asked") ended.clear();
        for (const connection of reason === "asked" ? [] : own) {
          ended.add(connection);
          if (reason === "idle") emit({ type: "ended", connection, reason });
        }
        await close();
      },
    };
  };
}
