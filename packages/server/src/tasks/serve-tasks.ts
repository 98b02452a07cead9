import { checkKnown, type OptionKinds } from "@durable-mcp/core/internal";
import {
  type BaseToolCallback,
  type CallToolResult,
  type InputRequiredResult,
  type McpServer,
  ProtocolError,
  type RegisteredTool,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import * as z from "zod/mini";
import { rpcError } from "../base/json-rpc.ts";
import { type RequestTasks, type ServerTasks, tasksExtension } from "./task-host.ts";
import type { RunningTask } from "./task-legs.ts";

/** What the handler of a task's tool gets besides its arguments: the SDK's context, and the task. */
export type TaskToolContext = ServerContext & {
  /** `undefined` in a plain call. */
  readonly task?: RunningTask | undefined;
};

/**
 * The handler of a task's tool, in the SDK's form. `ctx.mcpReq.signal` aborts when the task is cancelled, on any
 * replica, and when another process has taken it over. The handler asks by returning `inputRequired(…)`: the task then
 * waits without a process, and the handler is called again, on any replica, with the answers.
 */
export type TaskToolCallback<Input extends StandardSchemaWithJSON | undefined> = BaseToolCallback<
  CallToolResult | InputRequiredResult,
  TaskToolContext,
  Input
>;

type Early = CallToolResult | InputRequiredResult | undefined;

/** The SDK's config of a tool, and how its calls are tasks. */
export interface TaskToolConfig<Input extends StandardSchemaWithJSON | undefined> {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Input;
  readonly outputSchema?: StandardSchemaWithJSON;
  readonly annotations?: ToolAnnotations;
  readonly _meta?: Record<string, unknown>;
  /** How long a task and its result are kept after its start, in milliseconds. @default 86400000 (1 day) */
  readonly ttlMs?: number;
  /** How often clients should look, in milliseconds. @default 1000 */
  readonly pollIntervalMs?: number;
  /**
   * `true`: when the process that works on it dies, or its drain runs out of time, the handler is called again with
   * the same arguments and answers, as soon as the client looks, up to 5 runs in all. After that, and without it, the
   * task has failed, and its error says that the work may have been done. @default false
   */
  readonly runAgain?: boolean;
  /** A client that takes no tasks gets an error, −32021, in place of a plain call. @default false */
  readonly required?: boolean;
  /**
   * Runs before the handler, in plain calls too, while the client waits. If it returns a result, that is the answer, and
   * there is no task. It may ask with `inputRequired(…)`; the handler gets the answers too. @default every call is a task
   */
  readonly before?: (...args: Parameters<TaskToolCallback<Input>>) => Early | Promise<Early>;
}

const requests = new WeakMap<McpServer, RequestTasks | undefined>();
const kinds: OptionKinds<TaskToolConfig<StandardSchemaWithJSON>> = {
  ...{ ttlMs: [1], pollIntervalMs: [1], runAgain: "anything", required: "anything" },
  ...{ before: "anything", title: "anything", description: "anything", inputSchema: "anything" },
  ...{ outputSchema: "anything", annotations: "anything", _meta: "anything" },
};
const dayMs = 86_400_000;

/**
 * Serves the extension `io.modelcontextprotocol/tasks` of revision 2026-07-28: `tasks/get`, `tasks/update` and
 * `tasks/cancel`, on every replica, for the principal that began the task. Call it in `createServer`, before
 * `taskTool`. In a session it does nothing: there the tools are called plainly.
 *
 * @param tasks what `createServer` was given
 * @see https://github.com/modelcontextprotocol/ext-tasks
 */
export function serveTasks(server: McpServer, { ofRequest }: ServerTasks): void {
  requests.set(server, ofRequest);
  if (!ofRequest) return;
  server.server.registerCapabilities({ extensions: { [tasksExtension]: {} } });
  const params = z.looseObject({ taskId: z.string() });
  const methods = {
    "tasks/get": (taskId: string) => ofRequest.get(taskId),
    "tasks/update": (taskId: string) => ofRequest.update(taskId),
    "tasks/cancel": (taskId: string) => ofRequest.cancel(taskId),
  };
  for (const [method, run] of Object.entries(methods)) {
    server.server.setRequestHandler(method, { params }, async ({ taskId }) => {
      if (!ofRequest.isDeclared) throw rpcError(...notDeclared(method));
      return { resultType: "complete", ...(await run(taskId)) };
    });
  }
}

/**
 * Registers a tool whose calls are tasks when the client takes them, and plain calls otherwise. A handler that throws
 * the SDK's `ProtocolError` makes the task fail; other errors are results with `isError`, as in plain calls.
 *
 * @throws {Error} without `serveTasks` before it
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function taskTool<Input extends StandardSchemaWithJSON | undefined = undefined>(
  server: McpServer,
  name: string,
  config: TaskToolConfig<Input>,
  handler: TaskToolCallback<Input>,
): RegisteredTool {
  if (!requests.has(server)) {
    throw new Error("taskTool: call serveTasks(server, tasks) first, with tasks of createServer.");
  }
  const ofRequest = requests.get(server);
  const { ttlMs = dayMs, pollIntervalMs = 1_000, runAgain = false, ...others } = config;
  const { required = false, before, ...tool } = others;
  checkKnown(config as TaskToolConfig<StandardSchemaWithJSON>, kinds);
  const call = handler as (...args: unknown[]) => unknown;
  const early = before as ((...args: unknown[]) => unknown) | undefined;

  async function run(...all: unknown[]): Promise<unknown> {
    if (ofRequest?.running) return await runLeg(ofRequest, ofRequest.running, all);
    if (required && !ofRequest?.isDeclared) {
      const [code, message, data] = notDeclared(`the tool ${JSON.stringify(name)}`);
      ofRequest?.answerInstead({ error: { code, message, data } });
      throw new Error(message);
    }
    const answer = await early?.(...all);
    if (answer !== undefined) return answer;
    if (!ofRequest?.isDeclared) return await call(...all);
    await ofRequest.begin({ ttlMs, pollIntervalMs, runAgain });
    // The client gets the task instead.
    return { content: [] };
  }

  async function runLeg(tasks: RequestTasks, task: RunningTask, all: unknown[]) {
    const context: TaskToolContext = { ...(all.at(-1) as ServerContext), task };
    try {
      return await call(...all.slice(0, -1), context);
    } catch (error) {
      if (error instanceof ProtocolError) {
        const { code, message, data } = error;
        tasks.answerInstead({ error: { code, message, ...(data !== undefined && { data }) } });
      }
      throw error;
    }
  }

  const callback = tool.inputSchema ? run : (context: unknown) => run(context);
  return server.registerTool(name, tool as object, callback as never);
}

function notDeclared(what: string): [number, string, Record<string, unknown>] {
  const message = `Missing required client capability: ${what} needs a client that declares the extension ${tasksExtension} in the request's client capabilities.`;
  return [-32_021, message, { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }];
}
