import { McpSessionError, type SessionStore } from "@durable-mcp/core";

type Operation = keyof SessionStore;

/** A store whose operations can be watched, held back, and made to fail; `times` from now on. */
export function createHeldStore(store: SessionStore) {
  const log: Operation[] = [];
  const hooks = new Map<Operation, () => Promise<void> | void>();
  const held = Object.fromEntries(
    (["get", "put", "touch", "delete", "list", "batch", "publish"] as const).map((operation) => [
      operation,
      async (...args: unknown[]) => {
        log.push(operation);
        await hooks.get(operation)?.();
        return await (store[operation] as (...all: unknown[]) => Promise<unknown>)(...args);
      },
    ]),
  ) as unknown as SessionStore;
  if (store.subscribe) held.subscribe = (topic, listener) => store.subscribe!(topic, listener);
  return {
    store: held,
    log,
    /** Runs before each of these operations, which waits for it. */
    before(operation: Operation, hook: () => Promise<void> | void) {
      hooks.set(operation, hook);
    },
    fail(...operations: Operation[]) {
      for (const operation of operations) {
        hooks.set(operation, () => {
          throw new McpSessionError("STORE_FAILED", "The store is down.");
        });
      }
    },
    heal: () => hooks.clear(),
  };
}
