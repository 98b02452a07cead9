import type { McpClientConnection } from "../src/index.ts";
import {
  type ConnectionEvent,
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
  type DurableSessionEvent,
  type DurableSessionsOptions,
  type StatefulSessionOptions,
} from "../src/index.ts";
import type { SessionStore } from "@durable-mcp/core";
import type { NotebookServer } from "./notebook-server.ts";

export type ProcessOptions = Partial<
  DurableSessionsOptions<Record<string, McpClientConnection>>
> & {
  readonly session?: Omit<StatefulSessionOptions, "mode">;
  readonly connection?: Partial<Parameters<typeof defineMcpClientConnection>[0]>;
};

/** One of the processes of an application: its own provider and sessions, on a store that all share. */
export function startProcess(
  { url }: Pick<NotebookServer, "url">,
  store: SessionStore,
  { session, connection, ...options }: ProcessOptions = {},
) {
  const events: (ConnectionEvent | DurableSessionEvent)[] = [];
  const provider = createConnectionProvider<Record<string, McpClientConnection>>({
    connections: {
      notes: defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: { mode: "stateful", ...session },
        ...connection,
      }),
    },
    onEvent: (event) => events.push(event),
  });
  const sessions = createDurableSessions({
    provider,
    store,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { sessions, events, types: () => events.map(({ type }) => type) };
}
