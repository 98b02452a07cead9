import type { SessionStore } from "@durable-mcp/core";

/** When in a step the store fails. */
export const moments = ["load", "save", "end", "replacement"] as const;
export type Moment = (typeof moments)[number];

/** What happens to one operation of a store. */
export type StoreAct = <T>(operation: () => Promise<T>) => Promise<T>;

export interface StoreAtFault {
  readonly store: SessionStore;
  /** From the next operation of this kind on, all of them; until `heal`. */
  readonly failAt: (operation: "get" | "put", act: StoreAct) => void;
  readonly heal: () => void;
  /** How many operations the fault has met since the last `failAt`. */
  readonly met: () => number;
}

/** A store whose operations can be made to fail, when they come. */
export function createStoreAtFault(inner: SessionStore): StoreAtFault {
  let trigger: { operation: "get" | "put"; act: StoreAct } | undefined;
  let act: StoreAct | undefined;
  let met = 0;
  const run = async <T>(name: string, operation: () => Promise<T>): Promise<T> => {
    if (trigger?.operation === name) act = trigger.act;
    if (act === undefined) return await operation();
    met += 1;
    return await act(operation);
  };
  return {
    store: {
      get: (key) => run("get", () => inner.get(key)),
      put: (...args) => run("put", () => inner.put(...args)),
      touch: (key, at) => run("touch", () => inner.touch(key, at)),
      delete: (...args) => run("delete", () => inner.delete(...args)),
      list: (query) => run("list", () => inner.list(query)),
      ...(inner.batch && { batch: (writes) => run("batch", () => inner.batch!(writes)) }),
      ...(inner.publish && { publish: (topic) => run("publish", () => inner.publish!(topic)) }),
      ...(inner.subscribe && {
        subscribe: (topic, listener) => inner.subscribe!(topic, listener),
      }),
    },
    failAt(operation, next) {
      trigger = { operation, act: next };
      met = 0;
    },
    heal() {
      trigger = undefined;
      act = undefined;
    },
    met: () => met,
  };
}
