import { McpSessionError, type SessionStore } from "@durable-mcp/core";
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
  const store = watchStore(unwatched, emit);
  return {
    ...{ settings, emit, store },
    sessions: createStoredSessions(store, settings),
    replica: createReplica(store, settings),
    waker: createWaker(),
  };
}

/** `store`, with each failure emitted and rejected as `STORE_FAILED`, whatever error it threw. */
function watchStore(store: SessionStore, emit: EmitServerEvent): SessionStore {
  async function watched<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (cause) {
      const message = "The session store rejected with an error of its own; see its cause.";
      const error = McpSessionError.isInstance(cause)
        ? cause
        : new McpSessionError("STORE_FAILED", message, { cause });
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
