import { randomUUID } from "node:crypto";
import type { ToolTaskHandler } from "@modelcontextprotocol/sdk/experimental/tasks/interfaces.js";
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  type EventStore,
  StreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { type HttpHandler, sendJson } from "../../core/test/http-server.ts";
import { answer } from "./notebook-server.ts";
import { pollMs, question, resultOf, type SlowParts } from "./slow-work.ts";

const research = { description: "Researches.", inputSchema: { topic: z.string() } };

/** On SDK v1: sessions, and streams with event ids. @param isTask whether its calls are tasks of 2025-11-25 */
export function serveSlowSessions(
  parts: SlowParts,
  isTask: boolean,
): { handle: HttpHandler; restart: () => void } {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const taskStore = new InMemoryTaskStore();
  const open = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => `secret-session-${randomUUID()}`,
      ...(!parts.isPlain && { eventStore: createEventStore() }),
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void transports.delete(id),
    });
    const tasks = { taskStore, taskMessageQueue: new InMemoryTaskMessageQueue() };
    const capabilities = { tasks: { requests: { tools: { call: {} } } } };
    const options = isTask ? { capabilities, ...tasks } : {};
    const mcp = new McpServer({ name: "slow", version: "1.0.0" }, options);
    if (isTask) registerTask(mcp, parts);
    else registerStream(mcp, parts);
    mcp.registerTool("quick", { description: "Is quick." }, () => answer("at once"));
    await mcp.connect(transport);
    return transport;
  };
  return {
    async handle(request, response) {
      const id = request.headers["mcp-session-id"]?.toString();
      const transport = id === undefined ? await open() : transports.get(id);
      if (transport) return await transport.handleRequest(request.raw, response, request.message);
      const error = { code: -32_001, message: "Session not found" };
      sendJson(response, 404, { jsonrpc: "2.0", id: null, error });
    },
    restart: () => transports.clear(),
  };
}

const idOf = (at: number) => `secret-event-${at}`;

/** Unlike the SDK's example it keeps the order of two events of one millisecond. */
export function createEventStore(): EventStore {
  const events: { readonly streamId: string; readonly message: unknown }[] = [];
  return {
    storeEvent: async (streamId, message) => idOf(events.push({ streamId, message }) - 1),
    async replayEventsAfter(lastEventId, { send }) {
      const last = events.findIndex((_, at) => idOf(at) === lastEventId);
      const { streamId } = events[last]!;
      for (const [at, event] of events.entries())
        if (at > last && event.streamId === streamId) await send(idOf(at), event.message as never);
      return streamId;
    },
  };
}

/** The tool `research`, whose calls are tasks of 2025-11-25. */
export function registerTask(mcp: McpServer, { begin, ttlMs }: SlowParts): void {
  const execution = { taskSupport: "required" } as const;
  const handler: ToolTaskHandler<typeof research.inputSchema> = {
    async createTask({ topic }, { taskStore }) {
      const work = begin(topic);
      const task = await taskStore.createTask({ ttl: ttlMs, pollInterval: pollMs });
      const { taskId } = task;
      const carryOut = async () => {
        while (work.state === "working") await work.changed();
        if (work.state === "asking") {
          await taskStore.updateTaskStatus(taskId, "input_required", "Needs a year");
          const asked = await mcp.server.elicitInput(question, { relatedTask: { taskId } });
          work.year = String(asked.content?.["year"]);
        }
        await taskStore.storeTaskResult(taskId, "completed", resultOf(work));
      };
      carryOut().catch(() => undefined);
      return { task };
    },
    getTask: async (_, { taskStore, taskId }) => await taskStore.getTask(taskId),
    getTaskResult: async (_, { taskStore, taskId }) =>
      (await taskStore.getTaskResult(taskId)) as ReturnType<typeof answer>,
  };
  mcp.experimental.tasks.registerToolTask("research", { ...research, execution }, handler);
}

const elicited = z.object({ content: z.object({ year: z.string() }).optional() });

function registerStream(mcp: McpServer, { begin }: SlowParts): void {
  mcp.registerTool("research", research, async ({ topic }, { signal, sendRequest }) => {
    const work = begin(topic);
    signal.addEventListener("abort", () => work.set("stopped"));
    while (work.state === "working") await work.changed();
    if (work.state === "asking") {
      const ask = { method: "elicitation/create", params: question } as const;
      const asked = await sendRequest(ask, elicited, { timeout: 600_000 });
      work.year = asked.content?.year;
    }
    return resultOf(work);
  });
}
