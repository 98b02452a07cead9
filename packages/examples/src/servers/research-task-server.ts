/**
 * An MCP server without sessions (revision 2026-07-28), whose tool works for long, as a task.
 *
 *     node research-task-server.ts <port> <milliseconds that a call takes>
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { found } from "./research.ts";

const [port, workMs = "40000"] = process.argv.slice(2);
const tasks = new Map<string, { topic: string; begunAt: number }>();

function describe(taskId: string) {
  const task = tasks.get(taskId);
  if (task === undefined) throw Object.assign(new Error("Unknown task"), { code: -32_602 });
  const { topic, begunAt } = task;
  const createdAt = new Date(begunAt).toISOString();
  const isDone = Date.now() - begunAt >= Number(workMs);
  return {
    ...{ taskId, createdAt, lastUpdatedAt: createdAt, ttlMs: null, pollIntervalMs: 2_000 },
    ...(isDone ? { status: "completed", result: found(topic) } : { status: "working" }),
  };
}

function createLab(): McpServer {
  const extensions = { "io.modelcontextprotocol/tasks": {} };
  const lab = new McpServer({ name: "lab", version: "1.0.0" }, { capabilities: { extensions } });
  const inputSchema = z.object({ topic: z.string() });
  lab.registerTool("research", { description: "Researches a topic.", inputSchema }, (input) => {
    const taskId = randomUUID();
    tasks.set(taskId, { ...input, begunAt: Date.now() });
    // The SDK has no types for tasks of this revision yet, and passes them on.
    return { resultType: "task", ...describe(taskId) } as never;
  });
  const schemas = { params: z.looseObject({ taskId: z.string() }), result: z.looseObject({}) };
  lab.server.setRequestHandler("tasks/get", schemas, ({ taskId }: { taskId: string }) => ({
    ...{ resultType: "complete", ...describe(taskId) },
  }));
  return lab;
}

const serve = toNodeHandler(createMcpHandler(createLab, { legacy: "reject" }));
// Its parameter type leaves out the `undefined` that node's own type has.
createServer((request, response) => void serve(request as never, response)).listen(
  Number(port),
  "127.0.0.1",
);
