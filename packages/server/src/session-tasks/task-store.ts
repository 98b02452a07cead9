import { type JsonValue, McpSessionError } from "@durable-mcp/core";
import { createSessionId } from "../base/session-id.ts";
import type { Task, TaskStore } from "../base/task-types.ts";
import type { TaskCall, TaskContext } from "./task-context.ts";
import { taskOf } from "./stored-tasks.ts";
import { isOver, type TaskRecord, withStatus } from "./task-record.ts";

/** How often a client asks by default, in milliseconds. */
const defaultPollInterval = 1_000;

/** A `TaskStore` of SDK v1 over the tasks of a principal. */
export function createTaskStore(context: TaskContext): TaskStore {
  const { tasks, running, settings, emit } = context;
  const { now } = settings;
  const written = createWritten(context);

  /** A write of the author's code came after the task's end. It is not told by an error, which nobody may catch. */
  function refuse(taskId: string): void {
    emit({ type: "task-late" });
    written.note(taskId, undefined);
  }

  return {
    createTask: createTaskStart(context),

    getTask: async (taskId) => {
      const last = written.taken(taskId);
      if (last) return last.task;
      const record = await tasks.find(taskId);
      return record ? taskOf(record) : null;
    },

    storeTaskResult: async (taskId, status, result) => {
      try {
        const value = printed(result, settings.events.maxLength);
        const { record, isChanged } =
          typeof value === "string"
            ? await tasks.edit(taskId, (current) => withStatus(current, now(), "failed", value))
            : await tasks.finish(taskId, status, value);
        if (typeof value === "string") emit({ type: "failed", error: new Error(value) });
        if (isChanged) written.note(taskId, record);
        else refuse(taskId);
      } catch (error) {
        // The store has emitted its failure. Without a result the task fails at the next look.
        if (!McpSessionError.isInstance(error)) emit({ type: "failed", error });
        written.note(taskId, undefined);
      }
      running.end(taskId);
    },

    getTaskResult: async (taskId) => {
      const record = await tasks.find(taskId);
      if (!record) throw notFound();
      const result = await tasks.resultOf(record);
      if (result !== undefined) return result as { [field: string]: unknown };
      const { status, statusMessage } = record.task;
      const message = `The task is ${status} and has no result.`;
      const isLost = status === "failed";
      throw Object.assign(new Error(statusMessage ?? message), {
        code: -32603,
        ...(isLost && { data: { code: "OUTCOME_UNKNOWN" } }),
      });
    },

    updateTaskStatus: async (taskId, status, statusMessage) => {
      const { record, isChanged } = await tasks.edit(taskId, (current) =>
        withStatus(current, now(), status, statusMessage),
      );
      if (isChanged) {
        written.note(taskId, record);
        if (!record || !isOver(record)) return;
        running.end(taskId, status === "cancelled" ? "The task was cancelled." : undefined);
        if (status === "cancelled") context.signals.send(context.topicOf(record.session));
        return;
      }
      // Only a client cancels.
      if (status !== "cancelled") return refuse(taskId);
      if (!record) throw notFound();
      throw new Error(`The task is ${record.task.status} already, and cannot be cancelled.`);
    },

    listTasks: (cursor) => tasks.list(cursor),
  };
}

/** After each write the SDK reads the task, to tell its client; then it gets what was written. */
function createWritten({ callOf, closed }: TaskContext) {
  const written = new WeakMap<TaskCall, { readonly taskId: string; readonly task: Task | null }>();
  return {
    note: (taskId: string, record: TaskRecord | undefined): void => {
      const call = callOf();
      // A closed server cannot tell its client, and the SDK would reject in the author's code.
      const task = record && !closed.aborted ? taskOf(record) : null;
      if (call) written.set(call, { taskId, task });
    },
    /** What the running call has just written of this task; once. */
    taken: (taskId: string) => {
      const call = callOf();
      const last = call && written.get(call);
      if (last?.taskId !== taskId) return undefined;
      written.delete(call!);
      return last;
    },
  };
}

/** Stores new tasks, and holds on to each while its work runs here. */
function createTaskStart(context: TaskContext): TaskStore["createTask"] {
  const { tasks, running, settings, replica, emit, owner, hash, closed } = context;
  const { now, limits, timeouts } = settings;
  let creating = 0;
  return async ({ ttl, pollInterval }) => {
    if (closed.aborted) throw closedMeanwhile();
    if (running.count() + creating >= limits.tasksPerSession) {
      // SDK v1 tells the client that no task was made, and not why.
      emit({ type: "refused", reason: "too-many-tasks" });
      const most = `limits.tasksPerSession: ${limits.tasksPerSession}`;
      throw new Error(`Too many tasks of this session run (${most}). Wait for one.`);
    }
    const taskId = createSessionId();
    const at = new Date(now()).toISOString();
    const task = {
      ...{ taskId, status: "working" as const, createdAt: at, lastUpdatedAt: at },
      ttl: Math.max(1, Math.ceil(Math.min(ttl ?? timeouts.taskMs, timeouts.taskMs))),
      pollInterval: pollInterval ?? defaultPollInterval,
    };
    const hold = await replica.hold(taskId);
    const worker = { replica: replica.token, name: taskId, renewals: hold.renewals };
    creating += 1;
    try {
      await tasks.create({ version: 1, owner, task, worker, session: hash, messages: [] });
      // What runs nowhere fails at the next look.
      if (closed.aborted) throw closedMeanwhile();
      // Not before it is stored: who looks at what runs here would miss it.
      running.begin(taskId, hold, task.ttl);
    } catch (error) {
      hold.release();
      throw error;
    } finally {
      creating -= 1;
    }
    return { ...task };
  };
}

function closedMeanwhile(): Error {
  return new Error("This session's server was closed. Send the request again.");
}

function notFound(): Error {
  return Object.assign(new Error("Task not found"), { code: -32602 });
}

/** The result as JSON; a text that says why it cannot be stored. */
function printed(result: unknown, maxLength: number): Exclude<JsonValue, string> | string {
  try {
    const text = JSON.stringify(result);
    if (text.length <= maxLength) return JSON.parse(text) as Exclude<JsonValue, string>;
    return `The task is done, but its result has more than ${maxLength} characters (events.maxLength), and was not stored.`;
  } catch {
    return "The task is done, but its result is not JSON, and was not stored. Return plain data.";
  }
}
