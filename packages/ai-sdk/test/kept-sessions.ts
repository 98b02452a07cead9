import { createMemoryStore, type JsonValue } from "@durable-mcp/core";
import {
  type ConnectionProviderOptions,
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  type CarriedSession,
  type EndedSession,
  type McpClientConnection,
  type Principal,
  type SessionStatus,
  type StoredSession,
} from "../src/index.ts";
import { bothStores } from "./both-stores.ts";
import { collectEvents } from "./collect-events.ts";
import { type AgentSession, alice } from "./step.ts";

type Declared = ConnectionProviderOptions<Record<string, McpClientConnection>>["connections"];
type Use = (registry: ConnectionRun<any>) => unknown;
type Selection = {
  principal?: Principal;
  connection?: string;
  name?: string;
  timeoutMs?: number;
};

/** The sessions of one agent session, `chat`. The uses are of alice, if they name nobody else. */
export interface Kept extends Omit<ReturnType<typeof collectEvents>, "onEvent"> {
  step(use: Use, principal?: Principal): Promise<void>;
  list(selection?: Selection): Promise<(CarriedSession | StoredSession)[]>;
  status(selection?: Selection): Promise<SessionStatus[]>;
  restart(selection?: Selection): Promise<EndedSession[]>;
  end(selection?: Selection): Promise<EndedSession[]>;
  clearTools(selection?: Selection): Promise<void>;
  /** Changes alice's session of `notes` where it is kept. */
  change(change: (snapshot: any) => object): Promise<void>;
  /** All that is kept. */
  contents(): Promise<string>;
  /** Another process, with other connections. */
  as(connections: Declared): Kept;
}

/** Where the sessions of an agent session are kept: in a state that the application carries, or in a store. */
export const backends = ["a carried state", ...bothStores.map(([name]) => name)] as const;

export function startKept(backend: string, connections: Declared): Kept {
  return backend === "a carried state" ? inState(connections) : inStore(backend, connections);
}

function inState(connections: Declared, held: { session: AgentSession } = { session: {} }): Kept {
  const { onEvent, ...collected } = collectEvents();
  const provider = createConnectionProvider({ connections, onEvent });
  const ending = (mode: "end" | "restart") => async (selection?: Selection) => {
    const { session, results } = await provider[mode](held.session, ofAlice(selection));
    held.session = session;
    return results;
  };
  return {
    ...collected,
    async step(use: Use, principal = alice) {
      const session = JSON.parse(JSON.stringify(held.session)) as AgentSession;
      const registry = provider.create({ state: session.state, principal });
      try {
        await use(registry);
      } finally {
        await registry.dispose();
        held.session = provider.commit(registry, session);
      }
    },
    list: async (selection?: Selection) => await provider.list(held.session, ofAlice(selection)),
    status: async (selection?: Selection) =>
      await provider.status(held.session, ofAlice(selection)),
    restart: ending("restart"),
    end: ending("end"),
    async clearTools(selection?: Selection) {
      held.session = await provider.clearTools(held.session, ofAlice(selection));
    },
    async change(change) {
      const state = structuredClone(held.session.state) as { mcpSessions: Record<string, object> };
      const key = '["notes","user","https://idp.test","alice"]';
      state.mcpSessions[key] = change(state.mcpSessions[key]);
      held.session = { state };
    },
    contents: async () => JSON.stringify(held.session),
    as: (others) => inState(others, held),
  };
}

function inStore(
  backend: string,
  connections: Declared,
  store = new Map(bothStores).get(backend)!(createMemoryStore()),
): Kept {
  const { onEvent, ...collected } = collectEvents();
  const sessions = createDurableSessions({ connections, store, onEvent });
  const key = '["default","chat","notes","user","https://idp.test","alice"]';
  const ending = (mode: "end" | "restart") => async (selection?: Selection) =>
    (await sessions[mode]("chat", ofAlice(selection))).map(inChat);
  return {
    ...collected,
    step: async (use, principal = alice) => {
      await sessions.run("chat", { principal }, async (run) => void (await use(run)));
    },
    async list(selection) {
      const page = await sessions.list({ ...ofAlice(selection), sessionId: "chat" });
      return page.sessions.map(inChat);
    },
    status: async (selection) => await sessions.status("chat", ofAlice(selection)),
    restart: ending("restart"),
    end: ending("end"),
    clearTools: async (selection) => await sessions.clearTools("chat", ofAlice(selection)),
    async change(change) {
      const { value, revision } = (await store.get(key))!;
      const { snapshot, ...record } = value as Record<string, JsonValue>;
      const changed = { ...record, snapshot: change(snapshot) as JsonValue };
      await store.put(key, changed, revision, { owner: '["user","https://idp.test","alice"]' });
    },
    contents: async () => {
      const { records } = await store.list({ limit: 100 });
      return JSON.stringify(records.map(({ value }) => value));
    },
    as: (others) => inStore(backend, others, store),
  };
}

const ofAlice = (selection: Selection = {}) => ({ principal: alice, ...selection });

function inChat<ENTRY extends { sessionId?: string | undefined }>({ sessionId, ...entry }: ENTRY) {
  if (sessionId !== "chat") throw new Error(`of ${sessionId}`);
  return entry;
}
