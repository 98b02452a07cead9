import type { ToolSet } from "ai";
import {
  type ConnectionProviderOptions,
  type ConnectionRun,
  createConnectionProvider,
  type McpClientConnection,
  type Principal,
} from "../src/index.ts";
import { collectEvents } from "./collect-events.ts";

export const alice: Principal = { type: "user", issuer: "https://idp.test", id: "alice" };
export const bob: Principal = { type: "user", issuer: "https://idp.test", id: "bob" };

export interface AgentSession {
  readonly state?: unknown;
}

/** An application: a provider, the events so far, and steps that each begin from JSON. */
export function startApplication<CONNECTIONS extends Record<string, McpClientConnection>>(
  connections: ConnectionProviderOptions<CONNECTIONS>["connections"],
  options: Partial<ConnectionProviderOptions<CONNECTIONS>> = {},
) {
  const { onEvent, ...collected } = collectEvents();
  const provider = createConnectionProvider<CONNECTIONS>({
    connections,
    onEvent,
    ...options,
  });
  return {
    provider,
    ...collected,
    /** The types of the events since the last look. */
    takeEvents: () => collected.events.splice(0).map(({ type }) => type),
    /** One step as a process takes it: the agent session comes and goes as JSON. */
    step: async (
      session: AgentSession,
      use: (registry: ConnectionRun<CONNECTIONS>) => unknown,
      principal: Principal | undefined = alice,
    ): Promise<AgentSession> => {
      const loaded = JSON.parse(JSON.stringify(session)) as AgentSession;
      const registry = provider.create({ state: loaded.state, principal });
      try {
        await use(registry);
      } finally {
        await registry.dispose();
      }
      return provider.commit(registry, loaded);
    },
  };
}

/** Calls a tool as the agent loop does. */
export async function callTool(
  tools: ToolSet,
  name: string,
  input: unknown = {},
  abortSignal?: AbortSignal,
): Promise<any> {
  const execute = tools[name]?.execute;
  if (execute === undefined) {
    throw new Error(`There is no tool ${name} among ${Object.keys(tools).join(", ")}.`);
  }
  return await execute(input, {
    toolCallId: "call-1",
    messages: [],
    context: {},
    ...(abortSignal && { abortSignal }),
  });
}

/** Calls a tool and gives the text of its result. */
export async function callForText(tools: ToolSet, name: string, input?: unknown): Promise<string> {
  const { content } = await callTool(tools, name, input);
  return content[0].text as string;
}

/** Makes the step's tool list outdated, which it writes at its end: the server does not know the tool. */
export async function outdateTools(registry: Pick<ConnectionRun<any>, "call">): Promise<void> {
  await registry.call("notes", "unknown");
}

/** Opens an agent session and lists its tools, which connects all. */
export async function openAndList<RUN extends ConnectionRun<any> & AsyncDisposable>(
  sessions: { open(id: string, use: never): Promise<RUN> },
  id: string,
  use: object,
): Promise<RUN> {
  const run = await sessions.open(id, use as never);
  try {
    await run.tools();
    return run;
  } catch (error) {
    await run.dispose();
    throw error;
  }
}
