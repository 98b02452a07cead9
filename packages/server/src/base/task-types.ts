/*
 * The parts of the tasks of `@modelcontextprotocol/sdk` 1 that a store of them reads, in types of their
 * own. What the SDK types more narrowly, in types of its schemas, is `any`.
 */

/**
 * The status of a task.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task of revision 2025-11-25. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  /** Milliseconds from its creation. */
  ttl: number | null;
  /** ISO 8601. */
  createdAt: string;
  lastUpdatedAt: string;
  /** Milliseconds. */
  pollInterval?: number;
  statusMessage?: string;
}

type Queued<Type extends string> = { type: Type; message: any; timestamp: number };

/** A message that waits in a task's queue for a `tasks/result`. */
export type QueuedMessage =
  | Queued<"request">
  | Queued<"notification">
  | Queued<"response">
  | Queued<"error">;

/** `TaskStore` of `@modelcontextprotocol/sdk` 1. It is one session's, and needs no session id. */
export interface TaskStore {
  /** Begins a task. Rejects beyond `limits.tasksPerSession`, with the event `refused`. */
  createTask(params: { ttl?: number | null; pollInterval?: number }): Promise<Task>;
  /** The task as it is; `null` for one that is unknown, or another principal's. */
  getTask(taskId: string): Promise<Task | null>;
  /** Ends a task with its result. One that has ended stays as it is, with the event `task-late`. */
  storeTaskResult(taskId: string, status: "completed" | "failed", result: object): Promise<void>;
  /** The result of a task that has ended. */
  getTaskResult(taskId: string): Promise<{ [field: string]: any }>;
  /** Says how a task is. Rejects for one that has ended. */
  updateTaskStatus(taskId: string, status: TaskStatus, statusMessage?: string): Promise<void>;
  /** A page of the principal's tasks. `nextCursor` is opaque. */
  listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }>;
}

/** `TaskMessageQueue` of `@modelcontextprotocol/sdk` 1. */
export interface TaskMessageQueue {
  /** Adds a message for the next `tasks/result`. */
  enqueue(taskId: string, queued: QueuedMessage, session?: string, maxSize?: number): Promise<void>;
  /** Takes the oldest message. */
  dequeue(taskId: string): Promise<QueuedMessage | undefined>;
  /** Takes all messages, when the task has ended. */
  dequeueAll(taskId: string): Promise<QueuedMessage[]>;
}
