import { McpSessionError, type SessionStore, type StoredValue } from "@durable-mcp/core";
import { attemptInStore } from "@durable-mcp/core/store-driver";
import { guarded, wait } from "@durable-mcp/core/internal";
import type { ConnectionTelemetry, StoreOperation } from "../events/connection-telemetry.ts";

/**
 * A store whose operations settle within `timeoutMs`, whatever the given one does, and fail with
 * `STORE_FAILED`. A read that failed is tried once more, because nothing can be done twice. A write is
 * not: if the first one was done, the second would take it for another process's. What is read at the same moment is
 * one request, where the store can read many at once.
 *
 * @param now the clock of the sessions. It tells the time of a write, as that of each touch
 */
export function createBoundedStore(
  store: SessionStore,
  timeoutMs: number,
  now: () => number,
  telemetry?: ConnectionTelemetry,
): SessionStore {
  const measured = createMeasure(telemetry);
  const write = <T>(operation: Operation, run: () => Promise<T>) =>
    measured(operation, () => attemptInStore("application's", operation, run, timeoutMs));
  const read = <T>(operation: Operation, run: () => Promise<T>) =>
    measured(operation, () =>
      attemptInStore(
        "application's",
        operation,
        ({ signal, isRead }) => {
          isRead();
          return retryOnce(run, signal);
        },
        timeoutMs,
      ),
    );
  const getOne = (key: string) => read("get", () => store.get(key));
  return {
    ...(store.encrypted && { encrypted: true }),
    ...(store.maxBytes !== undefined && { maxBytes: store.maxBytes }),
    get: store.getMany
      ? together((keys) => read("get", () => store.getMany!(keys)), getOne)
      : getOne,
    list: (query) => read("list", () => store.list(query)),
    put: (key, value, ifRevision, options) =>
      write("put", () => store.put(key, value, ifRevision, { at: now(), ...options })),
    touch: (...args) => write("touch", () => store.touch(...args)),
    delete: (...args) => write("delete", () => store.delete(...args)),
    ...(store.batch && { batch: (writes) => write("batch", () => store.batch!(writes)) }),
    ...(store.publish && { publish: (topic) => write("publish", () => store.publish!(topic)) }),
    ...(store.subscribe && {
      subscribe: (topic, listener) => store.subscribe!(topic, listener),
    }),
  };
}

type Operation = StoreOperation["operation"];

/** The most that a store reads at once. */
const maxTogether = 1_000;

/** Reads what is asked for in one turn of the event loop in one request. */
function together(
  getMany: NonNullable<SessionStore["getMany"]>,
  getOne: SessionStore["get"],
): SessionStore["get"] {
  let keys: string[] = [];
  let reading: Promise<readonly (StoredValue | undefined)[]> | undefined;
  const start = () => void ([keys, reading] = [[], undefined]);
  const readAll = async (asked: readonly string[]) => {
    // Whoever else wants to read asks meanwhile.
    await Promise.resolve();
    if (asked === keys) start();
    return asked.length === 1 ? [await getOne(asked[0]!)] : await getMany(asked);
  };
  return async (key) => {
    const at = keys.push(key) - 1;
    const own = (reading ??= readAll(keys));
    if (keys.length === maxTogether) start();
    return (await own)[at];
  };
}

/** Tells the telemetry of each operation. Its errors are dropped. */
function createMeasure(telemetry: ConnectionTelemetry | undefined) {
  const observe = guarded((use: StoreOperation) => telemetry?.observeStore?.(use));
  return async <T>(operation: Operation, run: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    let error: unknown;
    try {
      return await run();
    } catch (failure) {
      error = failure ?? new Error();
      throw failure;
    } finally {
      observe({ operation, durationMs: performance.now() - start, error });
    }
  };
}

/** The pause before the second try, in milliseconds, up to twice as long by chance. */
const pauseMs = 50;

async function retryOnce<T>(run: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (McpSessionError.isInstance(error) && error.code !== "STORE_FAILED") throw error;
    await wait(pauseMs * (1 + Math.random()), signal);
    return await run();
  }
}
