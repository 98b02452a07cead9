import { McpSessionError, type SessionStore } from "@durable-mcp/core";

/** One operation of a store. */
export interface StoreOperation {
  readonly name: keyof SessionStore;
  /** The keys, the prefix of a listing, or the topic. */
  readonly keys: readonly string[];
}

/** What happens to an operation; `operate` does it. */
export type StoreAct = <T>(operate: () => Promise<T>, operation: StoreOperation) => Promise<T>;

/**
 * A store whose operations a test can count, hold back, and make fail. All but `subscribe`, which goes to `store` as it is.
 *
 * @example
 * const faulty = createFaultyStore(store);
 * faulty.fail("put");
 */
export function createFaultyStore(store: SessionStore) {
  const log: StoreOperation["name"][] = [];
  const acts = new Map<StoreOperation["name"] | "*", StoreAct>();
  const through = async <T>(
    name: StoreOperation["name"],
    keys: readonly string[],
    operate: () => Promise<T>,
  ): Promise<T> => {
    log.push(name);
    const act = acts.get(name) ?? acts.get("*");
    return await (act ? act(operate, { name, keys }) : operate());
  };
  const faulty: SessionStore = {
    ...store,
    get: (key) => through("get", [key], () => store.get(key)),
    put: (...args) => through("put", [args[0]], () => store.put(...args)),
    touch: (key, at) => through("touch", [key], () => store.touch(key, at)),
    delete: (...args) => through("delete", [args[0]], () => store.delete(...args)),
    list: (query) => through("list", [query.prefix ?? ""], () => store.list(query)),
    ...(store.batch && {
      batch: (writes) =>
        through(
          "batch",
          writes.map(({ key }) => key),
          () => store.batch!(writes),
        ),
    }),
    ...(store.publish && {
      publish: (topic) => through("publish", [topic], () => store.publish!(topic)),
    }),
  };
  return {
    store: faulty,
    /** All operations so far, by name. Set `length` to 0 to count anew. */
    log,
    /** Has operations of this name, or all others, meet `act` from now on. */
    meet: (on: StoreOperation["name"] | "*", act: StoreAct) => void acts.set(on, act),
    /** Runs before each of these operations, which waits for it. */
    before(on: StoreOperation["name"], hook: () => Promise<void> | void): void {
      acts.set(on, async (operate) => {
        await hook();
        return await operate();
      });
    },
    /** Has these operations reject with `STORE_FAILED` from now on. */
    fail(...on: readonly StoreOperation["name"][]): void {
      const failed = new McpSessionError("STORE_FAILED", "The store is down.");
      for (const name of on) acts.set(name, () => Promise.reject(failed));
    },
    /** All is well again. */
    heal: () => acts.clear(),
  };
}
