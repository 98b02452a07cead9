import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { attemptInStore } from "@durable-mcp/core/store-driver";
import pRetry from "p-retry";

/**
 * A store whose operations settle within `timeoutMs`, whatever the given one does, and fail with
 * `STORE_FAILED`. A read that failed is tried once more, because nothing can be done twice. A write is
 * not: if the first one was done, the second would take it for another process's.
 */
export function createBoundedStore(store: SessionStore, timeoutMs: number): SessionStore {
  const write = <T>(operation: keyof SessionStore, run: () => Promise<T>) =>
    attemptInStore("application's", operation, run, timeoutMs);
  const read = <T>(operation: keyof SessionStore, run: () => Promise<T>) =>
    attemptInStore(
      "application's",
      operation,
      ({ signal, isRead }) => {
        isRead();
        return retryOnce(run, signal);
      },
      timeoutMs,
    );
  return {
    get: (key) => read("get", () => store.get(key)),
    list: (query) => read("list", () => store.list(query)),
    put: (...args) => write("put", () => store.put(...args)),
    touch: (...args) => write("touch", () => store.touch(...args)),
    delete: (...args) => write("delete", () => store.delete(...args)),
  };
}

async function retryOnce<T>(run: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return await pRetry(run, {
    signal,
    retries: 1,
    minTimeout: 50,
    randomize: true,
    shouldRetry: ({ error }) => !McpSessionError.isInstance(error) || error.code === "STORE_FAILED",
  });
}
