import * as z from "zod/mini";
import { isMessage } from "../base/json-rpc.ts";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import type { Task } from "../base/task-types.ts";

/** What others need to know to ask whether a process still holds something. */
const heldSchema = z.object({
  /** The process's token. */
  replica: z.string(),
  /** What its lease lists. */
  name: z.string(),
  renewals: z.number(),
});

const messageSchema = z.object({
  /** The id of a request, which names the live session that asked; made up for a notification. */
  name: z.string(),
  type: z.enum(["request", "notification"]),
  message: z.custom<JSONRPCMessage>(isMessage),
  timestamp: z.number(),
  /** The hash of the session that asked; no other may answer. */
  session: z.string(),
  /** The `tasks/result` that has sent it, and its place in that call's stream; 0 if the client had it before. */
  sent: z.optional(z.extend(heldSchema, { place: z.optional(z.number()) })),
});

export type StoredMessage = z.infer<typeof messageSchema>;

export type Sent = NonNullable<StoredMessage["sent"]>;

const schema = z.object({
  version: z.literal(1),
  writer: z.optional(z.string()),
  owner: z.string(),
  task: z.object({
    taskId: z.string(),
    status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
    ttl: z.number(),
    createdAt: z.string(),
    lastUpdatedAt: z.string(),
    pollInterval: z.number(),
    statusMessage: z.optional(z.string()),
  }),
  /** The process in which it runs. */
  worker: heldSchema,
  /** The hash of the session in whose server it runs. */
  session: z.string(),
  /** What waits for a `tasks/result`, in order. */
  messages: z.array(messageSchema),
  /** Names the value with its result. */
  result: z.optional(z.string()),
});

/** A task as it is stored, without its result. */
export type TaskRecord = z.infer<typeof schema>;

/** A value may be another program's. */
export function parseTask(value: unknown): TaskRecord | undefined {
  return z.safeParse(schema, value).data;
}

export function isOver({ task: { status } }: TaskRecord): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Milliseconds since 1970-01-01 UTC. */
export function expiryOf({ task: { createdAt, ttl } }: TaskRecord): number {
  return Date.parse(createdAt) + ttl;
}

/** The record with another status. One that is over has no messages any more. */
export function withStatus(
  record: TaskRecord,
  now: number,
  status: Task["status"],
  statusMessage?: string,
): TaskRecord {
  const changed: TaskRecord = {
    ...record,
    task: {
      ...record.task,
      ...{ status, lastUpdatedAt: new Date(now).toISOString() },
      ...(statusMessage !== undefined && { statusMessage }),
    },
  };
  return isOver(changed) ? { ...changed, messages: [] } : changed;
}
