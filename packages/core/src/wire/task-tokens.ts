import { setBounded } from "../base/bounded-map.ts";
import { isRecord } from "../base/json-values.ts";
import {
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
} from "./json-rpc.ts";

/** A session has fewer tasks under way than this. The oldest one is dropped. */
const maxTasks = 1_000;
const terminal: readonly unknown[] = ["completed", "failed", "cancelled"];

/**
 * The progress tokens of task-augmented requests. They stay valid after the `CreateTaskResult`, until the
 * task has a terminal status.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications
 */
export function createTaskTokens() {
  const tokens = new Map<unknown, { readonly token: JsonRpcId; readonly taskId: unknown }>();
  const end = (ended: unknown) => {
    for (const [wireId, { taskId }] of tokens) if (taskId === ended) tokens.delete(wireId);
  };
  const endIfTerminal = (task: Record<string, unknown> = {}) => {
    if (terminal.includes(task["status"])) end(task["taskId"]);
  };
  return {
    /** The client's token, if the task of the request with this id on the wire goes on. */
    find: (wireId: unknown): JsonRpcId | undefined => tokens.get(wireId)?.token,
    /** Notes that a request's answer is a task with this progress token. */
    keep(wireId: string, token: JsonRpcId, taskId: unknown): void {
      setBounded(tokens, wireId, { token, taskId }, maxTasks);
    },
    /** Reads news about tasks: a notification, or the answer to a request about one. */
    observe(message: JsonRpcMessage, request: JsonRpcRequest | undefined): void {
      if ("method" in message) {
        if (methodOf(message) === "notifications/tasks/status") endIfTerminal(paramsOf(message));
      } else if (message.result !== undefined && request?.method.startsWith("tasks/")) {
        if (request.method === "tasks/result") end(request.params?.["taskId"]);
        else endIfTerminal(message.result);
      }
    },
  };
}

/** The id of the task that a task-augmented request made. */
export function createdTaskId(request: JsonRpcRequest, result: unknown): unknown {
  const isAugmented = request.params?.["task"] !== undefined;
  const task = isAugmented && isRecord(result) ? result["task"] : undefined;
  return isRecord(task) ? task["taskId"] : undefined;
}
