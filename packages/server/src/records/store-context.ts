import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { detach } from "@durable-mcp/core/internal";
import { attemptInStore } from "@durable-mcp/core/store-driver";
import type { EmitServerEvent } from "../base/server-event.ts";
import type { HandlerSettings } from "../base/settings.ts";
import { createReplica, type Replica } from "./replica.ts";
import { createStoredSessions, type StoredSessions } from "./stored-session.ts";
import { createSessionCount, type SessionCount } from "./session-count.ts";
import { createSignals, type Signals } from "./signals.ts";
import { storeKey } from "./store-key.ts";

/** A handler's settings, its store, its sessions there, and this process among others on it. */
export interface StoreContext {
  readonly settings: HandlerSettings;
  readonly emit: EmitServerEvent;
  readonly store: SessionStore;
  readonly sessions: StoredSessions;
  readonly sessionCount: SessionCount;
  readonly replica: Replica;
  readonly signals: Signals;
  /** Names the signals of a session. */
  readonly topicOf: (hash: string) => string;
}

export function createStoreContext(
  unwatched: SessionStore,
  settings: HandlerSettings,
  emit: EmitServerEvent,
): StoreContext {
  const store = watchStore(unwatched, emit, settings.timeouts);
  return {
    ...{ settings, emit, store },
    sessions: createStoredSessions(store, settings),
    sessionCount: createSessionCount(store, settings),
    replica: createReplica(store, settings),
    signals: createSignals(store, settings.timeouts.pollIntervalMs),
    topicOf: (hash) => storeKey(settings.name, "session", hash),
  };
}

/**
 * `store`, whose operations settle within `storeMs`, with each failure emitted and rejected as
 * `STORE_FAILED`, whatever error it threw.
 */
function watchStore(
  store: SessionStore,
  emit: EmitServerEvent,
  { storeMs, pollIntervalMs }: HandlerSettings["timeouts"],
): SessionStore {
  const batch = store.batch?.bind(store);
  const publish = store.publish?.bind(store);
  async function watched<T>(operation: keyof SessionStore, run: () => Promise<T>): Promise<T> {
    try {
      return (await attemptInStore("session", operation, run, storeMs)) as T;
    } catch (error) {
      emit({ type: "store-failed", error: error as McpSessionError });
      throw error;
    }
  }
  /** A store that cannot subscribe is looked at now and then. */
  const subscribe: SessionStore["subscribe"] =
    store.subscribe &&
    ((topic, listener) => {
      try {
        return store.subscribe!(topic, listener);
      } catch (cause) {
        const message = "The session store failed at subscribe. It is read now and then instead.";
        emit({
          type: "store-failed",
          error: new McpSessionError("STORE_FAILED", message, { cause }),
        });
        const timer = setInterval(listener, pollIntervalMs);
        detach(timer);
        return () => clearInterval(timer);
      }
    });
  return {
    get: (key) => watched("get", () => store.get(key)),
    put: (...args) => watched("put", () => store.put(...args)),
    touch: (key, at) => watched("touch", () => store.touch(key, at)),
    delete: (...args) => watched("delete", () => store.delete(...args)),
    list: (query) => watched("list", () => store.list(query)),
    ...(batch && { batch: (writes) => watched("batch", () => batch(writes)) }),
    ...(publish && { publish: (topic) => watched("publish", () => publish(topic)) }),
    ...(subscribe && { subscribe }),
  };
}
