import { createMemoryStore } from "@durable-mcp/core";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  createSessionHandler,
  type ServerSession,
  type ServerSessionEvent,
  type SessionHandlerOptions,
} from "../src/index.ts";
import { createFragileStore } from "./fragile-store.ts";
import { createNotesServer, type Notes } from "./notes-server.ts";
import { createRawClient } from "./raw-client.ts";

interface Options extends Partial<SessionHandlerOptions<Notes>> {
  /** The SDK of the servers. @default 1 */
  sdk?: 1 | 2;
  /** Changes each server that is built. */
  setUp?: (mcp: McpServer, session: ServerSession<Notes>) => unknown;
}

/** Handlers on one store, as replicas and restarted processes are. A test can disturb the store of each. */
export function createReplicas(common: Options = {}) {
  const store = createMemoryStore();
  /** Everything that the author's code was told, in all of them. */
  const lines: string[] = [];
  const events: ServerSessionEvent[] = [];
  const servers: McpServer[] = [];
  const start = (own: Options = {}) => {
    const { sdk, setUp, store: inner = store, ...options } = { ...common, ...own };
    const { store: fragile, control } = createFragileStore(inner);
    const handler = createSessionHandler<Notes>({
      principal: "none",
      initialState: () => ({ notes: [] }),
      createServer: ({ session }) => {
        const mcp = createNotesServer(session, { lines }, sdk);
        setUp?.(mcp, session);
        servers.push(mcp);
        return mcp;
      },
      onEvent: (event) => void events.push(event),
      ...options,
      store: fragile,
      timeouts: { pollIntervalMs: 20, leaseMs: 3_000, ...common.timeouts, ...own.timeouts },
    });
    /** From then on nothing reaches the store, as when the process is gone. */
    const kill = () => {
      control.interfere = () => new Promise(() => {});
    };
    return { handler, client: createRawClient(handler), control, kill };
  };
  return { start, store, lines, events, servers };
}

/** One handler, and a session of its client. */
export async function startSession(options: Options = {}, ...hello: Hello) {
  const replicas = createReplicas(options);
  const one = replicas.start();
  return { ...replicas, ...one, id: await one.client.initialize(...hello) };
}

/** Two handlers on one store, and a session that the client of the first one began. */
export async function startTwo(options: Options = {}, ...hello: Hello) {
  const replicas = createReplicas(options);
  const [one, two] = [replicas.start(), replicas.start()];
  return { ...replicas, one, two, id: await one.client.initialize(...hello) };
}

type Hello = Parameters<ReturnType<typeof createRawClient>["initialize"]>;
