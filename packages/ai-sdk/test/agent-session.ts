import { createMemoryStore } from "@durable-mcp/core";
import {
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnection,
  type Principal,
} from "../src/index.ts";
import { collectEvents } from "./collect-events.ts";
import { type NotebookServer, startNotebookServer } from "./notebook-server.ts";
import { type AgentSession, alice, callTool } from "./step.ts";

/** Where an agent session's MCP sessions are kept. */
export type Kept = "state" | "store";

/** The interval of durable sessions; idle time-outs are three times as long at least. */
export const touchIntervalMs = 60_000;

type Registry = ConnectionRun<any>;

/**
 * An agent with two notebooks, `notes` and `cart`, and a stateless one, `plain`. Each step is a
 * process of its own, with a clock that the test sets.
 */
export async function startAgent(kept: Kept) {
  const server = await startNotebookServer();
  const cart = await startNotebookServer();
  const plain = await startNotebookServer();
  let time = Date.now();
  const now = () => time;
  const { onEvent, ...collected } = collectEvents();
  const startProvider = () =>
    createConnectionProvider<Record<string, McpClientConnection>>({
      connections: {
        notes: notebook(server, "stateful"),
        cart: notebook(cart, "stateful"),
        plain: notebook(plain, "stateless"),
      },
      onEvent,
      now,
    });
  const states = new Map<string, AgentSession>();
  const store = createMemoryStore({ now });
  const sessionsOf = (agent?: string, provider = startProvider()) =>
    createDurableSessions({
      provider,
      store,
      touchIntervalMs,
      clockSkewMs: 0,
      onEvent,
      ...(agent !== undefined && { agent }),
    });

  type Process = ReturnType<typeof startProvider>;
  interface StepUse {
    readonly principal?: Principal;
    readonly chat?: string;
    readonly agent?: string;
    /** The end of the process; by default it waits for all that is still under way. */
    readonly exit?: (process: Process) => Promise<void> | void;
  }
  const stepIn = async <T>(
    provider: Process,
    use: (registry: Registry) => T | Promise<T>,
    { principal = alice, chat = "chat", agent }: StepUse,
  ): Promise<T> => {
    if (kept === "store") {
      const sessions = sessionsOf(agent, provider);
      return await sessions.run(chat, { principal }, async (run) => await use(run));
    }
    const key = JSON.stringify([agent, chat]);
    const session = JSON.parse(JSON.stringify(states.get(key) ?? {})) as AgentSession;
    const { state } = session;
    const registry = provider.create({ state, principal });
    try {
      return await registry.enter(async () => await use(registry));
    } finally {
      states.set(key, provider.commit(registry, session));
    }
  };
  const step = async <T>(
    use: (registry: Registry) => T | Promise<T>,
    options: StepUse = {},
  ): Promise<T> => {
    const provider = startProvider();
    const { exit = async (process: Process) => await process.shutdown() } = options;
    try {
      return await stepIn(provider, use, options);
    } finally {
      await exit(provider);
    }
  };

  return {
    server,
    cart,
    ...collected,
    step,
    sessionsOf,
    /** The agent session with its state. */
    session: () => states.get(JSON.stringify([undefined, "chat"])) ?? {},
    provider: startProvider,
    pass: (ms: number) => {
      time += ms;
    },
    now,
    /** Forgets what the servers received so far. */
    clearLogs: () => {
      server.requests.length = 0;
      cart.requests.length = 0;
    },
  };
}

function notebook({ url }: NotebookServer, session: "stateful" | "stateless") {
  return defineMcpClientConnection({ url, description: "A notebook.", session });
}

export async function addNote(registry: Registry, text: string, connection = "notes") {
  return textOf(await registry.call(connection, "add_note", { text }));
}

export async function listNotes(registry: Registry, connection = "notes") {
  return textOf(await registry.call(connection, "list_notes"));
}

/** What the model is shown as the result of a tool. */
export async function callForModel(registry: Registry, name: string): Promise<string[]> {
  const tools = await registry.tools();
  const output: unknown = await callTool(tools, name);
  const seen: any = await tools[name]!.toModelOutput!({
    toolCallId: "call-1",
    input: {},
    output,
  });
  return seen.value.map(({ text }: { text: string }) => text);
}

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]!.text;
}
