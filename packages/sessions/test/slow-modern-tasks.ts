import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { HttpHandler } from "../../core/test/http-server.ts";
import { answer } from "./notebook-server.ts";
import { pollMs, question, resultOf, type SlowParts, type Work } from "./slow-work.ts";

const statuses = {
  working: "working",
  asking: "input_required",
  done: "completed",
  stopped: "cancelled",
} as const;

async function endOf(work: Work) {
  while (work.state === "working") await work.changed();
  return resultOf(work);
}

interface TaskRequest {
  readonly taskId: string;
}

/** On SDK v2: no sessions, and tasks of 2026-07-28. */
export function serveModernTasks({ begin, ttlMs, isPlain }: SlowParts): {
  handle: HttpHandler;
  restart: () => void;
} {
  const ofTask = new Map<string, Work>();
  const createdAt = new Date().toISOString();
  const find = (taskId: string): Work => {
    const work = ofTask.get(taskId);
    if (work) return work;
    throw Object.assign(new Error("Unknown task"), { code: -32_602 });
  };
  const describe = (taskId: string) => {
    const work = find(taskId);
    const status = statuses[work.state];
    const inputRequests = { year: { method: "elicitation/create", params: question } };
    return {
      ...{ taskId, status, statusMessage: `about ${work.topic}`.slice(0, 100) },
      ...{ createdAt, lastUpdatedAt: createdAt, ttlMs, pollIntervalMs: pollMs },
      ...(status === "completed" && { result: resultOf(work) }),
      ...(status === "input_required" && { inputRequests }),
    };
  };
  const { fetch } = createMcpHandler(
    () => {
      const extensions = isPlain ? {} : { "io.modelcontextprotocol/tasks": {} };
      const mcp = new McpServer(
        { name: "slow", version: "1.0.0" },
        { capabilities: { extensions } },
      );
      const inputSchema = z.object({ topic: z.string() });
      mcp.registerTool("research", { description: "Researches.", inputSchema }, ({ topic }) => {
        const work = begin(topic);
        if (isPlain) return endOf(work);
        const taskId = `secret-task-${randomUUID()}`;
        ofTask.set(taskId, work);
        // The SDK has no tasks of this revision yet, and passes the result on.
        return { resultType: "task", ...describe(taskId) } as never;
      });
      mcp.registerTool("quick", { description: "Is quick." }, () => answer("at once"));
      const schemas = { params: z.looseObject({ taskId: z.string() }), result: z.looseObject({}) };
      const complete = { resultType: "complete" };
      const { server } = mcp;
      server.setRequestHandler("tasks/get", schemas, ({ taskId }: TaskRequest) => ({
        ...complete,
        ...describe(taskId),
      }));
      server.setRequestHandler("tasks/update", schemas, ({ taskId }: TaskRequest, { mcpReq }) => {
        const work = find(taskId);
        const { year } = (mcpReq.inputResponses ?? {}) as { year?: { content: { year: string } } };
        // A key that has an answer takes no other one.
        if (work.state !== "asking") return complete;
        work.year = year?.content.year;
        work.set("working");
        return complete;
      });
      server.setRequestHandler("tasks/cancel", schemas, ({ taskId }: TaskRequest) => {
        find(taskId).set("stopped");
        return complete;
      });
      return mcp;
    },
    { legacy: "reject" },
  );
  return {
    async handle({ path, method, headers, body }, response) {
      const over = new AbortController();
      response.on("close", () => over.abort());
      const own = new Headers(headers as Record<string, string>);
      const init = { method, headers: own, body: body || null, signal: over.signal };
      const answered = await fetch(new Request(`http://slow.test${path}`, init));
      response.writeHead(answered.status, Object.fromEntries(answered.headers));
      if (answered.body) Readable.fromWeb(answered.body as never).pipe(response);
      else response.end();
    },
    restart: () => ofTask.clear(),
  };
}
