import { createMemoryStore, McpSessionError, type SessionStore } from "@durable-mcp/core";

type Operation = "get" | "put" | "touch" | "delete" | "list" | "batch";

/** What a test has an operation do: `run` does what the store would. */
export type Interfere = (
  operation: Operation,
  run: () => Promise<unknown>,
  key: string,
) => Promise<unknown>;

export const storeFailed = () => new McpSessionError("STORE_FAILED", "The store is down.");

/** A store of which `interfere` can delay, fail or repeat each operation. */
export function createFragileStore(inner: SessionStore = createMemoryStore()) {
  const control: { interfere: Interfere | undefined } = { interfere: undefined };
  function through<T>(operation: Operation, keys: string, run: () => Promise<T>): Promise<T> {
    return control.interfere ? (control.interfere(operation, run, keys) as Promise<T>) : run();
  }
  const batch = inner.batch?.bind(inner);
  const store: SessionStore = {
    get: (key) => through("get", key, () => inner.get(key)),
    put: (...args) => through("put", args[0], () => inner.put(...args)),
    touch: (key, at) => through("touch", key, () => inner.touch(key, at)),
    delete: (...args) => through("delete", args[0], () => inner.delete(...args)),
    list: (query) => through("list", query.prefix ?? "", () => inner.list(query)),
    ...(batch && {
      batch: (writes) =>
        through("batch", writes.map(({ key }) => key).join(" "), () => batch(writes)),
    }),
    ...(inner.publish && {
      publish: inner.publish.bind(inner),
      subscribe: inner.subscribe!.bind(inner),
    }),
  };
  return { store, control };
}

/** As a store that is down for these operations, or for all. */
export const downAt =
  (...operations: Operation[]): Interfere =>
  (operation, run) =>
    operations.length === 0 || operations.includes(operation)
      ? Promise.reject(new Error("down"))
      : run();
