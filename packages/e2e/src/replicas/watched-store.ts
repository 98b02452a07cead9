import type { SessionStore } from "@durable-mcp/core";
import { createFaultyStore, type StoreOperation } from "@durable-mcp/testing";

/** A store whose operations are counted, and can be held up: as of a process that is gone, when all of them are. */
export function watchStore(inner: SessionStore) {
  const { store, meet, heal, log } = createFaultyStore(inner);
  let held = Promise.withResolvers<void>();
  return {
    store,
    /** The names of all operations since the last time. */
    takeOperations: () => log.splice(0),
    /** From now on the operations for which `isHeld` is true wait, until they are let go. */
    hold(isHeld: (operation: StoreOperation) => boolean): void {
      meet("*", async (operate, operation) => {
        if (isHeld(operation)) await held.promise;
        return await operate();
      });
    },
    letGo(): void {
      heal();
      held.resolve();
      held = Promise.withResolvers();
    },
  };
}

export type WatchedStore = ReturnType<typeof watchStore>;

/** Whether an operation is about a value of this kind, such as the lease of a process. */
export function isAbout(kind: string): (operation: StoreOperation) => boolean {
  return ({ keys }) => keys.some((key) => key.includes(`","${kind}"`));
}
