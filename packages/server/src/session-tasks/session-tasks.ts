import type { JSONRPCMessage, RequestId } from "../base/mcp-types.ts";
import type { TaskMessageQueue, TaskStore } from "../base/task-types.ts";
import { createRunningTasks } from "./running-tasks.ts";
import { createStoredTasks } from "./stored-tasks.ts";
import type { TaskSession } from "./task-context.ts";
import { isOver, withStatus } from "./task-record.ts";
import { createTaskQueue, settleQuestion } from "./task-queue.ts";
import { createTaskStore } from "./task-store.ts";

/**
 * The tasks of revision 2025-11-25, for a server of `@modelcontextprotocol/sdk` 1: spread it into the
 * options of `new McpServer`. They belong to the session's principal, or to the session of an anonymous
 * client, and any replica tells how they stand. Their work runs in one process: when that dies, or the
 * session's server closes, they become `failed`.
 */
export interface SessionTasks {
  readonly taskStore: TaskStore;
  readonly taskMessageQueue: TaskMessageQueue;
  /**
   * Aborts when the work of a task that this session's server has created has to stop: it was cancelled, on any
   * replica, its ttl is over, or its server closes. A later result is not kept.
   */
  signalOf(taskId: string): AbortSignal;
}

const closedMessage =
  "The server that ran this task was closed. Its work may have been done: check before you start it again.";

/** What a live session's tasks need of it. */
export interface SessionTasksOptions extends TaskSession {
  readonly onBusy: (isBusy: boolean) => void;
  /** Hands a message to the server, as of its client. */
  readonly receive: (message: JSONRPCMessage) => void;
}

/** The tasks of one live session. */
export function createSessionTasks(options: SessionTasksOptions) {
  const tasks = createStoredTasks(options, options);
  const running = createRunningTasks({
    onBusy: options.onBusy,
    reject: (id, message) =>
      options.receive({ jsonrpc: "2.0", id, error: { code: -32603, message } }),
    onExpired: (taskId) => running.end(taskId, "The task's ttl is over."),
  });
  const context = { ...options, tasks, running };

  async function lookAt(taskId: string): Promise<void> {
    const record = await tasks.find(taskId);
    if (!record) running.end(taskId, "The task is gone.");
    else if (isOver(record)) running.end(taskId, `The task is ${record.task.status}.`);
  }

  async function closeOne(taskId: string): Promise<void> {
    const { now } = options.settings;
    // The store has emitted its failure. A task that runs nowhere fails at the next look.
    await tasks
      .edit(taskId, (record) => withStatus(record, now(), "failed", closedMessage))
      .catch(() => {});
    running.end(taskId, "The server was closed.");
  }

  const access: SessionTasks = {
    taskStore: createTaskStore(context),
    taskMessageQueue: createTaskQueue(context),
    signalOf: running.signalOf,
  };
  return {
    access,
    count: running.count,
    settled: (question: RequestId): void => settleQuestion(context, question),
    /** Notices tasks that another replica has ended. */
    look: async (): Promise<void> => {
      await Promise.all(running.ids().map(lookAt));
    },
    close: async (): Promise<void> => {
      await Promise.all(running.ids().map(closeOne));
    },
  };
}
