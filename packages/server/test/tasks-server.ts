import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod";
import type { ServerSession } from "../src/index.ts";

/** What the work of a task is told, and a test can wait for. */
export interface TaskJournal {
  /** Each begin, end and abort of work, with its topic. */
  readonly lines: Pick<string[], "push">;
  /** Work of topics in here goes on until they are removed. */
  readonly held: Pick<Set<string>, "has">;
}

export const createTaskJournal = () => ({ lines: [] as string[], held: new Set<string>() });

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const textOf = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** A server of SDK v1, written as its examples are, with tools whose calls become tasks. */
export function createTasksServer(
  session: ServerSession<object>,
  { lines, held }: TaskJournal,
): McpServer {
  const mcp = new McpServer(
    { name: "tasks", version: "1.0.0" },
    {
      ...session.tasks,
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    },
  );
  mcp.experimental.tasks.registerToolTask(
    "research",
    { inputSchema: { topic: z.string() }, execution: { taskSupport: "optional" } },
    {
      createTask: async ({ topic }, { taskStore, taskRequestedTtl: ttl }) => {
        const task = await taskStore.createTask({ ttl: ttl ?? null, pollInterval: 20 });
        const signal = session.tasks.signalOf(task.taskId);
        signal.addEventListener("abort", () => lines.push(`aborted ${topic}`));
        // As in the SDK's examples nobody waits for it, nor catches what it throws.
        void (async () => {
          lines.push(`began ${topic}`);
          while (held.has(topic)) await wait(5);
          await taskStore.storeTaskResult(task.taskId, "completed", textOf(`about ${topic}`));
          lines.push(`stored ${topic}`);
        })();
        return { task };
      },
      getTask: async (_, { taskId, taskStore }) => await taskStore.getTask(taskId),
      getTaskResult: async (_, { taskId, taskStore }) =>
        (await taskStore.getTaskResult(taskId)) as never,
    },
  );
  mcp.experimental.tasks.registerToolTask(
    "confirm_delete",
    { inputSchema: { filename: z.string() } },
    {
      createTask: async ({ filename }, { taskStore }) => {
        const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
        const { taskId } = task;
        const ask = async () => {
          await taskStore.updateTaskStatus(taskId, "input_required");
          const properties = { confirm: { type: "boolean" as const } };
          const requestedSchema = { type: "object" as const, properties };
          const answer = await mcp.server.elicitInput(
            { message: `Delete ${filename}?`, requestedSchema },
            { relatedTask: { taskId } },
          );
          const text = answer.content?.["confirm"] ? `Deleted '${filename}'` : "Kept";
          // The work is done, and then said to be.
          lines.push(text);
          await taskStore.storeTaskResult(taskId, "completed", textOf(text));
        };
        ask().catch((error: Error) => lines.push(`${filename}: ${error.message}`));
        return { task };
      },
      getTask: async (_, { taskId, taskStore }) => await taskStore.getTask(taskId),
      getTaskResult: async (_, { taskId, taskStore }) =>
        (await taskStore.getTaskResult(taskId)) as never,
    },
  );
  mcp.experimental.tasks.registerToolTask(
    "write_haiku",
    { inputSchema: { topic: z.string() } },
    {
      createTask: async ({ topic }, { taskStore }) => {
        const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
        const { taskId } = task;
        const write = async () => {
          await taskStore.updateTaskStatus(taskId, "input_required");
          const content = { type: "text" as const, text: `A haiku about ${topic}` };
          const said = await mcp.server.createMessage(
            { messages: [{ role: "user", content }], maxTokens: 50 },
            { relatedTask: { taskId } },
          );
          const text = said.content.type === "text" ? said.content.text : "";
          await taskStore.storeTaskResult(taskId, "completed", textOf(`Haiku: ${text}`));
        };
        write().catch((error: Error) => lines.push(`${topic}: ${error.message}`));
        return { task };
      },
      getTask: async (_, { taskId, taskStore }) => await taskStore.getTask(taskId),
      getTaskResult: async (_, { taskId, taskStore }) =>
        (await taskStore.getTaskResult(taskId)) as never,
    },
  );
  return mcp;
}
