import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import * as z from "zod";
import { sendJson, startHttpServer, type TestHttpServer } from "../../core/test/http-server.ts";
import { answer, type Interceptor } from "./notebook-server.ts";

/** How the server's calls outlive a request: as tasks of either revision, or on streams that can be resumed. */
export type SlowKind = "task of 2025-11-25" | "task of 2026-07-28" | "stream";

export const slowKinds: readonly SlowKind[] = [
  "task of 2025-11-25",
  "task of 2026-07-28",
  "stream",
];

/** The work of the tool `research`, one for each call. */
interface Work {
  readonly topic: string;
  state: "working" | "asking" | "done" | "stopped";
  answer?: unknown;
  readonly change: (() => void)[];
}

export interface SlowServer extends TestHttpServer {
  readonly url: string;
  /** All calls that the server has begun, in order. */
  readonly works: readonly Work[];
  /** Resolves when so many calls have begun. */
  readonly begun: (count?: number) => Promise<void>;
  /** Finishes all work. */
  readonly finish: () => void;
  /** Has the work ask a person, with a form of one text. */
  readonly ask: () => void;
  /** Forgets everything, as a restart does. */
  readonly restart: () => void;
  readonly intercept: (interceptor: Interceptor) => void;
}

const pollMs = 200;
const question = {
  message: "Which year?",
  requestedSchema: {
    type: "object" as const,
    properties: { year: { type: "string" as const } },
    required: ["year"],
  },
};

/** A server with the tool `research`, whose calls end when the test says so. On the official SDKs. */
export async function startSlowServer(
  kind: SlowKind,
  { ttlMs = 600_000 }: { readonly ttlMs?: number | undefined } = {},
): Promise<SlowServer> {
  const works: Work[] = [];
  let interceptor: Interceptor = () => "next";
  const begin = (topic: string): Work => {
    const work: Work = { topic, state: "working", change: [] };
    works.push(work);
    return work;
  };
  const setAll = (state: Work["state"]) => {
    for (const work of works) {
      if (work.state === "done" || work.state === "stopped") continue;
      work.state = state;
      for (const tell of work.change) tell();
    }
  };
  const changed = (work: Work) => new Promise<void>((resolve) => void work.change.push(resolve));
  const resultOf = (work: Work) =>
    answer(`All about ${work.topic}${work.answer ? ` in ${String(work.answer)}` : ""}.`);
  const handle = kind === "task of 2026-07-28" ? modern() : session();

  function session() {
    const transports = new Map<string, StreamableHTTPServerTransport>();
    const tasks = new InMemoryTaskStore();
    const open = async () => {
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `secret-session-${randomUUID()}`,
        eventStore: new InMemoryEventStore(),
        onsessioninitialized: (id) => void transports.set(id, transport),
        onsessionclosed: (id) => void transports.delete(id),
      });
      const isTask = kind === "task of 2025-11-25";
      const capabilities = isTask ? { tasks: { requests: { tools: { call: {} } } } } : {};
      const taskParts = isTask && {
        taskStore: tasks,
        taskMessageQueue: new InMemoryTaskMessageQueue(),
      };
      const mcp = new McpServer({ name: "slow", version: "1.0.0" }, { capabilities, ...taskParts });
      const inputSchema = { topic: z.string() };
      if (isTask) {
        mcp.experimental.tasks.registerToolTask(
          "research",
          { description: "Researches.", inputSchema, execution: { taskSupport: "required" } },
          {
            async createTask({ topic }, extra) {
              const work = begin(topic);
              const task = await extra.taskStore.createTask({ ttl: ttlMs, pollInterval: pollMs });
              const { taskId } = task;
              void (async () => {
                for (;;) {
                  await changed(work);
                  if (work.state === "asking") {
                    await extra.taskStore.updateTaskStatus(
                      taskId,
                      "input_required",
                      "Needs a year",
                    );
                    const asked = await mcp.server.elicitInput(question, {
                      relatedTask: { taskId },
                    });
                    work.answer = asked.content?.["year"];
                    work.state = "done";
                  }
                  if (work.state === "done") {
                    await extra.taskStore.storeTaskResult(taskId, "completed", resultOf(work));
                    return;
                  }
                }
              })().catch(() => undefined);
              return { task };
            },
            getTask: async (_, extra) => (await extra.taskStore.getTask(extra.taskId)) as never,
            getTaskResult: async (_, extra) =>
              (await extra.taskStore.getTaskResult(extra.taskId)) as never,
          },
        );
      } else {
        mcp.registerTool(
          "research",
          { description: "Researches.", inputSchema },
          async ({ topic }, extra) => {
            const work = begin(topic);
            extra.signal.addEventListener("abort", () => {
              work.state = "stopped";
              for (const tell of work.change) tell();
            });
            while (work.state === "working") await changed(work);
            if ((work.state as string) === "asking") {
              const asked = (await extra.sendRequest(
                { method: "elicitation/create", params: question },
                z.looseObject({ action: z.string() }) as never,
                { timeout: 600_000 },
              )) as { content?: { year?: string } };
              work.answer = asked.content?.year;
              work.state = "done";
            }
            return resultOf(work);
          },
        );
      }
      mcp.registerTool("quick", { description: "Is quick." }, () => answer("at once"));
      await mcp.connect(transport);
      return transport;
    };
    return {
      async handle(request: Parameters<Interceptor>[0], response: Parameters<Interceptor>[1]) {
        const id = request.headers["mcp-session-id"]?.toString();
        const transport = id === undefined ? await open() : transports.get(id);
        if (transport) return await transport.handleRequest(request.raw, response, request.message);
        sendJson(response, 404, {
          jsonrpc: "2.0",
          id: null,
          error: { code: -32001, message: "Session not found" },
        });
      },
      restart: () => transports.clear(),
    };
  }

  function modern() {
    const ofTask = new Map<string, Work>();
    const create = () => {
      const mcp = new McpServer2(
        { name: "slow", version: "1.0.0" },
        {
          capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } as never,
        },
      );
      const about = (taskId: string) => {
        const work = ofTask.get(taskId)!;
        const status = {
          working: "working",
          asking: "input_required",
          done: "completed",
          stopped: "cancelled",
        }[work.state];
        return {
          taskId,
          status,
          statusMessage: `about ${work.topic}`,
          createdAt: new Date().toISOString(),
          lastUpdatedAt: new Date().toISOString(),
          ttlMs,
          pollIntervalMs: pollMs,
          ...(work.state === "done" && { result: resultOf(work) }),
          ...(work.state === "asking" && {
            inputRequests: { year: { method: "elicitation/create", params: question } },
          }),
        };
      };
      mcp.registerTool(
        "research",
        { description: "Researches.", inputSchema: z.object({ topic: z.string() }) },
        ({ topic }) => {
          const taskId = `secret-task-${randomUUID()}`;
          ofTask.set(taskId, begin(topic));
          return { resultType: "task", ...about(taskId) } as never;
        },
      );
      mcp.registerTool("quick", { description: "Is quick." }, () => answer("at once"));
      const params = z.looseObject({ taskId: z.string() });
      const known = (taskId: string) => {
        if (!ofTask.has(taskId)) throw Object.assign(new Error("Unknown task"), { code: -32602 });
      };
      const raw = mcp.server as any;
      raw.setRequestHandler(
        "tasks/get",
        { params, result: z.looseObject({}) },
        ({ taskId }: { taskId: string }) => {
          known(taskId);
          return { resultType: "complete", ...about(taskId) };
        },
      );
      raw.setRequestHandler(
        "tasks/update",
        { params, result: z.looseObject({}) },
        ({ taskId }: { taskId: string }, { mcpReq }: any) => {
          known(taskId);
          const work = ofTask.get(taskId)!;
          if (work.state === "asking")
            Object.assign(work, {
              answer: mcpReq.inputResponses.year.content.year,
              state: "working",
            });
          return { resultType: "complete" };
        },
      );
      raw.setRequestHandler(
        "tasks/cancel",
        { params, result: z.looseObject({}) },
        ({ taskId }: { taskId: string }) => {
          known(taskId);
          ofTask.get(taskId)!.state = "stopped";
          return { resultType: "complete" };
        },
      );
      return mcp;
    };
    const { fetch } = createMcpHandler(create as never, { legacy: "reject" } as never);
    return {
      async handle(request: Parameters<Interceptor>[0], response: Parameters<Interceptor>[1]) {
        const headers = new Headers(request.headers as Record<string, string>);
        const over = new AbortController();
        response.on("close", () => over.abort());
        const answered = await fetch(
          new Request(`http://slow.test${request.path}`, {
            method: request.method,
            headers,
            body: request.body || null,
            signal: over.signal,
          }),
        );
        response.writeHead(answered.status, Object.fromEntries(answered.headers));
        if (answered.body) Readable.fromWeb(answered.body as never).pipe(response);
        else response.end();
      },
      restart: () => ofTask.clear(),
    };
  }

  const server = await startHttpServer(async (request, response) => {
    if ((await interceptor(request, response)) !== "next") return;
    await handle.handle(request, response);
  });
  return Object.assign(server, {
    url: `${server.origin}/mcp`,
    works,
    async begun(count = 1) {
      while (works.length < count) await setTimeout(10);
    },
    finish: () => setAll("done"),
    ask: () => setAll("asking"),
    restart: () => handle.restart(),
    intercept(next: Interceptor) {
      interceptor = next;
    },
  });
}
