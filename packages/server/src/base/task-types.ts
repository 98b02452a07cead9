/*
 * The parts of the tasks of `@modelcontextprotocol/sdk` 1 that a store of them reads, in types of their
 * own. What the SDK types more narrowly, in types of its schemas, is `any`.
 */

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks */
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
  createTask(params: { ttl?: number | null; pollInterval?: number }): Promise<Task>;
  getTask(taskId: string): Promise<Task | null>;
  storeTaskResult(taskId: string, status: "completed" | "failed", result: object): Promise<void>;
  getTaskResult(taskId: string): Promise<{ [field: string]: any }>;
  updateTaskStatus(taskId: string, status: TaskStatus, statusMessage?: string): Promise<void>;
  listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }>;
}

/** `TaskMessageQueue` of `@modelcontextprotocol/sdk` 1. */
export interface TaskMessageQueue {
  enqueue(taskId: string, queued: QueuedMessage, session?: string, maxSize?: number): Promise<void>;
  dequeue(taskId: string): Promise<QueuedMessage | undefined>;
  dequeueAll(taskId: string): Promise<QueuedMessage[]>;
}
