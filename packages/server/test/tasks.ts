import {
  acceptedContent,
  inputRequired,
  McpServer,
  ProtocolError,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ServerSession, ServerTasks } from "../src/index.ts";
import { serveTasks, taskTool } from "../src/tasks.ts";
import type { Cart } from "./cart-server.ts";
import { startCarts } from "./carts.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const sized = z.object({ size: z.number().int() });

/** What the tools of one replica did, and how they are let go. */
export interface TaskWork {
  /** Each run of a handler, in order. */
  readonly runs: string[];
  readonly aborted: string[];
  /** Lets all runs of `work` here go. */
  readonly open: () => void;
  readonly whenOpen: Promise<void>;
}

function createWork(): TaskWork {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { runs: [], aborted: [], open: resolve, whenOpen: promise };
}

interface Server {
  readonly tasks: ServerTasks;
  readonly session: ServerSession<Cart>;
}

/** A server whose tools are tasks. */
function createTaskServer({ tasks, session }: Server, work: TaskWork): McpServer {
  const mcp = new McpServer({ name: "tasks", version: "1.0.0" });
  serveTasks(mcp, tasks);
  const inputSchema = z.object({ item: z.string() });
  const config = { inputSchema, pollIntervalMs: 10 };
  for (const [name, runAgain] of [
    ["work", false],
    ["work_again", true],
  ] as const) {
    taskTool(mcp, name, { ...config, runAgain }, async ({ item }, { mcpReq, task }) => {
      work.runs.push(item);
      mcpReq.signal.addEventListener("abort", () => work.aborted.push(item));
      await task?.status(`works on ${item}`);
      await work.whenOpen;
      session.state.items.push(item);
      return text(`worked on ${item}`);
    });
  }
  taskTool(mcp, "order", config, ({ item }, { mcpReq }) => {
    work.runs.push(item);
    const round = Number(mcpReq.requestState() ?? 0);
    const answer = acceptedContent<{ size: number }>(mcpReq.inputResponses, "size");
    if (round === 2) return text(`${item} of size ${answer?.size}`);
    const size = inputRequired.elicit({ message: `Which size, ${round}?`, requestedSchema: sized });
    return inputRequired({ inputRequests: { size }, requestState: String(round + 1) });
  });
  taskTool(mcp, "both", config, (_args, { mcpReq }) => {
    work.runs.push("both");
    const sizeOf = (key: string) => acceptedContent(mcpReq.inputResponses, key, sized)?.size;
    const [left, right] = [sizeOf("left"), sizeOf("right")];
    if (left !== undefined && right !== undefined) return text(`${left} and ${right}`);
    const size = inputRequired.elicit({ message: "Which size?", requestedSchema: sized });
    return inputRequired({ inputRequests: { left: size, right: size } });
  });
  taskTool(mcp, "break", config, ({ item }) => {
    if (item === "protocol") throw new ProtocolError(-32_000, "It broke.", { part: "axle" });
    if (item === "long") return text("x".repeat(1_000_000));
    throw new Error("It went wrong.");
  });
  const outputSchema = z.object({ item: z.string() });
  taskTool(mcp, "structured", { ...config, ttlMs: 1_500, outputSchema }, ({ item }) => ({
    ...text(item),
    structuredContent: { item },
  }));
  return mcp;
}

type Answered = {
  readonly result?: Record<string, any>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

const takesTasks = {
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: {},
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
};

/** Replicas of a server with tasks on one store, and a client of 2026-07-28 that takes them. */
export function startTasks(common: Parameters<typeof startCarts>[0] = {}) {
  const { timeouts, ...others } = common;
  const carts = startCarts({
    ...{ stateScope: "principal", ...others },
    timeouts: { leaseMs: 600, ...timeouts },
  });

  async function replica(options: Parameters<typeof carts.replica>[0] = {}) {
    const work = createWork();
    const { handler, url } = await carts.replica({
      createServer: (server) => createTaskServer(server, work),
      ...options,
    });
    const send = async (method: string, params: Record<string, unknown>, user = "ada") => {
      const headers = {
        user,
        ...(typeof params["taskId"] === "string" && { "mcp-name": params["taskId"] }),
      };
      const response = await carts.post(url, method, params, headers, takesTasks);
      return (await response.json()) as Answered;
    };
    const call = (name: string, item: string, user?: string) =>
      send("tools/call", { name, arguments: { item } }, user);
    return {
      ...{ handler, url, work, send, call },
      /** Begins a task. @returns its id */
      begin: async (name: string, item = "tea") => {
        const { result } = await call(name, item);
        return String(result?.["taskId"]);
      },
      get: async (taskId: string, user?: string) =>
        (await send("tasks/get", { taskId }, user)).result,
      update: (taskId: string, inputResponses: unknown, user?: string) =>
        send("tasks/update", { taskId, inputResponses }, user),
      cancel: (taskId: string, user?: string) => send("tasks/cancel", { taskId }, user),
      /** The task, when it has this status. */
      until: async (taskId: string, status: string) => {
        for (;;) {
          const { result, error } = await send("tasks/get", { taskId });
          if (!result) throw new Error(error?.message);
          if (result["status"] === status) return result;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
    };
  }
  return { ...carts, replica };
}
