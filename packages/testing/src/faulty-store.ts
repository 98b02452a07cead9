import { McpSessionError, type SessionStore } from "@durable-mcp/core";

type Name = Exclude<keyof SessionStore, "subscribe">;

/** One operation of a store. */
export interface StoreOperation {
  readonly name: Name;
  /** The keys, the prefix of a listing, or the topic. */
  readonly keys: readonly string[];
}

/** What happens to an operation; `operate` does it. */
export type StoreAct = <T>(operate: () => Promise<T>, operation: StoreOperation) => Promise<T>;

/**
 * Wraps a store whose operations a test can count, hold back, and make fail: all but `subscribe`.
 *
 * @example
 * const faulty = createFaultyStore(store);
 * faulty.fail("put");
 */
export function createFaultyStore(store: SessionStore) {
  const log: Name[] = [];
  const acts = new Map<Name | "*", StoreAct>();
  const names = ["get", "getMany", "put", "touch", "delete", "list", "batch", "publish"] as const;
  const through = names.map((name) => {
    const own = store[name]?.bind(store) as ((...args: unknown[]) => Promise<unknown>) | undefined;
    if (own === undefined) return {};
    const operation = async (...args: unknown[]): Promise<unknown> => {
      log.push(name);
      const act = acts.get(name) ?? acts.get("*");
      return await (act?.(() => own(...args), { name, keys: keysOf(args[0]) }) ?? own(...args));
    };
    return { [name]: operation };
  });
  const meet = (on: Name | "*", act: StoreAct) => void acts.set(on, act);
  return {
    store: Object.assign({ ...store }, ...through) as SessionStore,
    /** All operations so far, by name. Set `length` to 0 to count anew. */
    log,
    /** Has operations of this name, or with `"*"` all others, meet `act` from now on. */
    meet,
    /** Runs before each of these operations, which waits for it. */
    before: (on: Name, hook: () => Promise<void> | void) =>
      meet(on, async (operate) => {
        await hook();
        return await operate();
      }),
    /** Has these operations reject with `STORE_FAILED` from now on. */
    fail(...on: readonly Name[]): void {
      const failed = new McpSessionError("STORE_FAILED", "The store is down.");
      for (const name of on) meet(name, () => Promise.reject(failed));
    },
    /** Ends all faults. */
    heal: () => acts.clear(),
  };
}

/** @param first a key or topic, the query of a listing, or the writes of a batch */
function keysOf(first: unknown): string[] {
  if (typeof first === "string") return [first];
  if (Array.isArray(first))
    return (first as (string | { key: string })[]).map((each) =>
      typeof each === "string" ? each : each.key,
    );
  return [(first as { prefix?: string }).prefix ?? ""];
}
