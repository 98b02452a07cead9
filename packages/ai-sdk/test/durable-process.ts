import {
  type ConnectionProviderOptions,
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnection,
  type StatefulSessionOptions,
  type StoredAutoSessionOptions,
} from "../src/index.ts";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import type { StoredSessionsOptions } from "../../sessions/src/management/durable-sessions.ts";
import { collectEvents } from "./collect-events.ts";
import { createFaultyStore } from "@durable-mcp/testing";
import { type NotebookServer, startNotebookServer } from "../../sessions/test/notebook-server.ts";

export type ProcessOptions = Partial<StoredSessionsOptions> &
  Pick<
    ConnectionProviderOptions<Record<string, McpClientConnection>>,
    "pool" | "closeTimeoutMs"
  > & {
    readonly session?: Omit<StatefulSessionOptions, "mode">;
    readonly connection?: Partial<Parameters<typeof defineMcpClientConnection>[0]>;
    readonly autoSession?: StoredAutoSessionOptions;
  };

/** One of the processes of an application: sessions of its own, on a store that all share. */
export function startProcess(
  { url }: Pick<NotebookServer, "url">,
  store: SessionStore,
  { session, connection, ...options }: ProcessOptions = {},
) {
  const { onEvent, ...collected } = collectEvents();
  const sessions = createDurableSessions<Record<string, McpClientConnection>>({
    connections: {
      notes: defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: { mode: "stateful", ...session },
        ...connection,
      }),
    },
    store,
    onEvent,
    ...options,
  });
  return { sessions, ...collected, types: () => collected.events.map(({ type }) => type) };
}

/** A notebook, and the first process on a store that can be held back, with a clock that the test sets. */
export async function startStored(
  options: ProcessOptions = {},
  wrap: (store: SessionStore) => SessionStore = (store) => store,
) {
  const server = await startNotebookServer();
  let time = Date.now();
  const now = () => time;
  const held = createFaultyStore(createMemoryStore({ now }));
  const store = wrap(held.store);
  const startAnother = (more: ProcessOptions = {}) =>
    startProcess(server, store, { now, ...options, ...more });
  const pass = (ms: number) => void (time += ms);
  return { server, held, store, pass, startAnother, ...startAnother() };
}
