/** The part of `AsyncLocalStorage` that is used. */
interface AsyncStorage<T> {
  getStore(): T | undefined;
  run<R>(value: T, use: () => R): R;
}
type StorageClass = new <T>() => AsyncStorage<T>;

/**
 * A value for the code that is called with it, and for all that this code starts. Where the runtime has no
 * `AsyncLocalStorage` there is none.
 *
 * @param name one context for all copies of this package: bundlers like to make several
 */
export function createAsyncContext<T>(name: string) {
  const key = Symbol.for(`durable-mcp.${name}`);
  const storage = (): AsyncStorage<T> | undefined => {
    const holder = globalThis as { [key: symbol]: AsyncStorage<T> | undefined };
    if (holder[key] === undefined) {
      const Storage = storageClass();
      holder[key] = Storage && new Storage();
    }
    return holder[key];
  };
  return {
    current: (): T | undefined => storage()?.getStore(),
    /** Calls `use` so that it, and all it starts, finds the value; without `AsyncLocalStorage` just calls it. */
    enter: <R>(value: T, use: () => R): R => {
      const own = storage();
      return own === undefined ? use() : own.run(value, use);
    },
    storage,
  };
}

/** Not an import, because other runtimes do not have Node's module. */
function storageClass(): StorageClass | undefined {
  const runtime = globalThis as {
    process?: { getBuiltinModule?: (id: string) => unknown };
    AsyncLocalStorage?: StorageClass;
  };
  if (runtime.AsyncLocalStorage !== undefined) return runtime.AsyncLocalStorage;
  try {
    const hooks = runtime.process?.getBuiltinModule?.("node:async_hooks");
    return (hooks as { AsyncLocalStorage?: StorageClass } | undefined)?.AsyncLocalStorage;
  } catch {
    // Next's edge runtime has the function, and throws when it is called.
    return undefined;
  }
}
