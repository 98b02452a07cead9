import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import {
  createSessionHandler,
  type ServerSessionEvent,
  type SessionHandlerOptions,
} from "../src/index.ts";
import { createNotesServer, type Notes } from "./notes-server.ts";
import { createRawClient } from "./raw-client.ts";

type Options = Partial<SessionHandlerOptions<Notes>>;

/** Handlers on one store, as replicas and restarted processes are. */
export function createReplicas(common: Options = {}) {
  const store = createMemoryStore();
  /** Everything that the author's code was told, in all of them. */
  const lines: string[] = [];
  const events: ServerSessionEvent[] = [];
  const start = (options: Options = {}) => {
    const killable = createKillableStore(store);
    const handler = createSessionHandler<Notes>({
      store: killable.store,
      principal: "none",
      initialState: () => ({ notes: [] }),
      createServer: ({ session }) => createNotesServer(session, { lines }),
      onEvent: (event) => void events.push(event),
      ...common,
      ...options,
      timeouts: { pollIntervalMs: 20, leaseMs: 3_000, ...common.timeouts, ...options.timeouts },
    });
    return { handler, client: createRawClient(handler), kill: killable.kill };
  };
  return { start, store, lines, events };
}

/** One handler, and a session of its client. */
export async function startSession(options: Options = {}, ...hello: Hello) {
  const replicas = createReplicas(options);
  const { client, handler } = replicas.start();
  return { ...replicas, client, handler, id: await client.initialize(...hello) };
}

/** Two handlers on one store, and a session that the client of the first one began. */
export async function startTwo(options: Options = {}, ...hello: Hello) {
  const replicas = createReplicas(options);
  const [one, two] = [replicas.start(), replicas.start()];
  return { ...replicas, one, two, id: await one.client.initialize(...hello) };
}

type Hello = Parameters<ReturnType<typeof createRawClient>["initialize"]>;

/** From `kill` on nothing reaches the store, as when the process is gone. */
function createKillableStore(store: SessionStore) {
  let isDead = false;
  const unlessDead = <T>(run: () => Promise<T>) => (isDead ? new Promise<T>(() => {}) : run());
  return {
    kill: () => {
      isDead = true;
    },
    store: {
      get: (key) => unlessDead(() => store.get(key)),
      put: (...args) => unlessDead(() => store.put(...args)),
      touch: (...args) => unlessDead(() => store.touch(...args)),
      delete: (...args) => unlessDead(() => store.delete(...args)),
      list: (query) => unlessDead(() => store.list(query)),
      batch: (writes) => unlessDead(() => store.batch!(writes)),
      publish: (topic) => unlessDead(() => store.publish!(topic)),
      subscribe: (topic, listener) => store.subscribe!(topic, () => isDead || listener()),
    } satisfies SessionStore,
  };
}
