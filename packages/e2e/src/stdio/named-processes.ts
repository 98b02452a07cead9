import { createMemoryStore } from "@durable-mcp/core";
import {
  type ConnectionEvent,
  type ConnectionPoolOptions,
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  type Principal,
} from "@durable-mcp/ai-sdk";
import {
  defineMcpStdioConnection,
  type McpStdioConnectionOptions,
} from "@durable-mcp/ai-sdk/stdio";
import { onTestFinished } from "vitest";
import { processesWith } from "../processes/marked-processes.ts";
import { stdioFixture } from "./stdio-fixture.ts";

export type Registry = ConnectionRun<any>;

/** An application with one stdio server, `fixture`, that nobody needs a principal for. */
export function startNamed({
  pool,
  ...options
}: Partial<McpStdioConnectionOptions> & { pool?: ConnectionPoolOptions } = {}) {
  const { marker, ...command } = stdioFixture();
  const events: ConnectionEvent[] = [];
  let time = Date.now();
  const provider = createConnectionProvider({
    connections: {
      fixture: defineMcpStdioConnection({
        ...command,
        description: "A fixture.",
        timeouts: { closeMs: 200 },
        ...options,
      }),
    },
    now: () => time,
    onEvent: {
      every: (event) =>
        event.type !== "operation" && event.type !== "step-ended" && events.push(event),
    },
    ...(pool && { pool }),
  });
  onTestFinished(() => provider.shutdown());
  const sessions = createDurableSessions({ provider, store: createMemoryStore() });
  return {
    provider,
    sessions,
    events,
    /** What happened since the last look, but for notifications. */
    takeEvents: () =>
      events.splice(0).filter(({ type }) => type !== "notification" && type !== "tools-changed"),
    pass: (ms: number) => void (time += ms),
    /** The process ids of the server's processes, but for their supervisors. */
    processes: () => processesWith(marker),
    /** One run of an agent session. */
    run: async <T>(
      use: (registry: Registry) => Promise<T>,
      { chat = "chat", principal }: { chat?: string; principal?: Principal } = {},
    ): Promise<T> => {
      const registry = provider.create({ sessionId: chat, ...(principal && { principal }) });
      return await registry.enter(async () => await use(registry));
    },
  };
}

/** Calls a tool of this run. */
export async function call(registry: Registry, tool: string, input?: Record<string, unknown>) {
  const { content } = await registry.call("fixture", tool, input);
  return (content as { text: string }[])[0]!.text;
}
