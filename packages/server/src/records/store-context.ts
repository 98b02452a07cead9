import type { McpSessionError, SessionStore } from "@durable-mcp/core";
import { attemptInStore } from "@durable-mcp/core/store-driver";
import type { EmitServerEvent } from "../base/server-event.ts";
import type { HandlerSettings } from "../base/settings.ts";
import { createReplica, type Replica } from "./replica.ts";
import { createStoredSessions, type StoredSessions } from "./stored-session.ts";
import { createWaker, type Waker } from "./waker.ts";

/** A handler's settings, its store, its sessions there, and this process among others on it. */
export interface StoreContext {
  readonly settings: HandlerSettings;
  readonly emit: EmitServerEvent;
  readonly store: SessionStore;
  readonly sessions: StoredSessions;
  readonly replica: Replica;
  readonly waker: Waker;
}

export function createStoreContext(
  unwatched: SessionStore,
  settings: HandlerSettings,
  emit: EmitServerEvent,
): StoreContext {
  const store = watchStore(unwatched, emit, settings.timeouts.storeMs);
  return {
    ...{ settings, emit, store },
    sessions: createStoredSessions(store, settings),
    replica: createReplica(store, settings),
    waker: createWaker(),
  };
}

/**
 * `store`, whose operations settle within `timeoutMs`, with each failure emitted and rejected as
 * `STORE_FAILED`, whatever error it threw.
 */
function watchStore(store: SessionStore, emit: EmitServerEvent, timeoutMs: number): SessionStore {
  async function watched<T>(operation: keyof SessionStore, run: () => Promise<T>): Promise<T> {
    try {
      return (await attemptInStore("session", operation, run, timeoutMs)) as T;
    } catch (error) {
      emit({ type: "store-failed", error: error as McpSessionError });
      throw error;
    }
  }
  return {
    get: (key) => watched("get", () => store.get(key)),
    put: (...args) => watched("put", () => store.put(...args)),
    touch: (key, at) => watched("touch", () => store.touch(key, at)),
    delete: (...args) => watched("delete", () => store.delete(...args)),
    list: (query) => watched("list", () => store.list(query)),
  };
}
