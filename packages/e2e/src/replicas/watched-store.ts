import type { SessionStore, StoreBatchWrite } from "@durable-mcp/core";

/** One operation of a store. */
interface StoreOperation {
  readonly name: keyof SessionStore;
  readonly keys: readonly string[];
}

/** A store whose operations are counted, and can be held up. */
export interface WatchedStore {
  readonly store: SessionStore;
  /** All operations since the last time. */
  readonly takeOperations: () => StoreOperation[];
  /** From now on the operations for which `isHeld` is true wait, until they are let go. */
  readonly hold: (isHeld: (operation: StoreOperation) => boolean) => void;
  readonly letGo: () => void;
}

/** As of a process that is gone, when all of its operations are held. */
export function watchStore(store: SessionStore): WatchedStore {
  let operations: StoreOperation[] = [];
  let isHeld = isNone;
  let waiting: (() => void)[] = [];

  async function pass<T>(name: keyof SessionStore, keys: readonly string[], run: () => Promise<T>) {
    const operation = { name, keys };
    operations.push(operation);
    if (isHeld(operation)) await new Promise<void>((resolve) => waiting.push(resolve));
    return await run();
  }

  return {
    store: {
      get: (key) => pass("get", [key], () => store.get(key)),
      put: (key, ...args) => pass("put", [key], () => store.put(key, ...args)),
      touch: (key, at) => pass("touch", [key], () => store.touch(key, at)),
      delete: (key, ...args) => pass("delete", [key], () => store.delete(key, ...args)),
      list: (query) => pass("list", [query.prefix ?? ""], () => store.list(query)),
      batch: (writes) => pass("batch", writes.map(keyOf), () => store.batch!(writes)),
      publish: (topic) => pass("publish", [topic], () => store.publish!(topic)),
      subscribe: (topic, listener) => store.subscribe!(topic, listener),
    },
    takeOperations: () => {
      const taken = operations;
      operations = [];
      return taken;
    },
    hold: (predicate) => {
      isHeld = predicate;
    },
    letGo: () => {
      isHeld = isNone;
      for (const resume of waiting) resume();
      waiting = [];
    },
  };
}

function isNone(_operation: StoreOperation): boolean {
  return false;
}

function keyOf({ key }: StoreBatchWrite): string {
  return key;
}

/** Whether an operation is about a value of this kind, such as the lease of a process. */
export function isAbout(kind: string): (operation: StoreOperation) => boolean {
  return ({ keys }) => keys.some((key) => key.includes(`","${kind}"`));
}
