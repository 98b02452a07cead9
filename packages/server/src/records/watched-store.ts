import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import type { EmitServerEvent } from "../base/server-event.ts";

/** The store, with every failure told to `emit` and rejected as `STORE_FAILED`, whatever it threw. */
export function watchStore(store: SessionStore, emit: EmitServerEvent): SessionStore {
  async function watched<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (cause) {
      const error = McpSessionError.isInstance(cause)
        ? cause
        : new McpSessionError("STORE_FAILED", "The store rejected with an error of its own.", {
            cause,
          });
      emit({ type: "store-failed", error });
      throw error;
    }
  }
  return {
    get: (key) => watched(store.get(key)),
    put: (...args) => watched(store.put(...args)),
    touch: (key, at) => watched(store.touch(key, at)),
    delete: (...args) => watched(store.delete(...args)),
    list: (query) => watched(store.list(query)),
  };
}
