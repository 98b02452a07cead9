import type { SessionStore } from "@durable-mcp/core";

/** A store that counts its operations by name. */
export function countOperations(store: SessionStore) {
  const counts = new Map<string, number>();
  const count = <T>(operation: string, run: () => T): T => {
    counts.set(operation, (counts.get(operation) ?? 0) + 1);
    return run();
  };
  const counted: SessionStore = {
    get: (key) => count("get", () => store.get(key)),
    put: (...args) => count("put", () => store.put(...args)),
    touch: (...args) => count("touch", () => store.touch(...args)),
    delete: (...args) => count("delete", () => store.delete(...args)),
    list: (query) => count("list", () => store.list(query)),
    batch: (writes) => count("batch", () => store.batch!(writes)),
    publish: (topic) => count("publish", () => store.publish!(topic)),
    subscribe: (...args) => count("subscribe", () => store.subscribe!(...args)),
  };
  return { store: counted, counts };
}
