import * as z from "zod/mini";

const object = z.record(z.string(), z.unknown());

const schema = z.looseObject({
  version: z.literal(1),
  /** Structural key of the principal. */
  owner: z.string(),
  /** Names the last write: who got no answer to a write finds out whether it was done. */
  writer: z.optional(z.string()),
  createdAt: z.number(),
  updatedAt: z.number(),
  /** How long after `createdAt` the task is kept, in milliseconds. */
  ttlMs: z.number(),
  pollIntervalMs: z.number(),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: z.optional(z.string()),
  /** The parameters of `tools/call`; for a later leg with the answers and the state of the last question. */
  params: object,
  /** The `Mcp-Param-*` headers, which repeat arguments. */
  headers: z.record(z.string(), z.string()),
  /** A leg whose process died may be carried out again. */
  runAgain: z.boolean(),
  /** How often the current leg was begun. */
  runs: z.number(),
  /** Who carries out the current leg: its process, the leg's name, and what tells whether it still does. */
  worker: z.optional(z.object({ replica: z.string(), call: z.string(), renewals: z.number() })),
  /** The questions of this round, by the keys that the client knows. `name` is the author's key. */
  asked: z.optional(
    z.array(
      z.object({
        key: z.string(),
        name: z.string(),
        request: object,
        response: z.optional(object),
      }),
    ),
  ),
  /** All keys that the client has been told; none is used for a second question. */
  keys: z.array(z.string()),
  result: z.optional(object),
  error: z.optional(object),
});

/** A task as it is stored. Times are milliseconds since 1970-01-01 UTC. */
export type TaskRecord = z.infer<typeof schema>;

/** `undefined` for a value of another version of this package, or of another program. */
export function parseTaskRecord(value: unknown): TaskRecord | undefined {
  return z.safeParse(schema, value).success ? (value as TaskRecord) : undefined;
}

export function isOver({ status }: TaskRecord): boolean {
  return status !== "working" && status !== "input_required";
}

/**
 * The task as `tasks/get` tells it.
 * @see https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md
 */
export function describeTask(taskId: string, record: TaskRecord): Record<string, unknown> {
  const { status, statusMessage, createdAt, updatedAt, ttlMs, pollIntervalMs } = record;
  const { result, error, asked = [] } = record;
  const open = asked.filter(({ response }) => response === undefined);
  return {
    ...{ taskId, status, ...(statusMessage !== undefined && { statusMessage }) },
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ...{ ttlMs, pollIntervalMs },
    ...(status === "completed" && { result }),
    ...(status === "failed" && { error }),
    ...(status === "input_required" && {
      inputRequests: Object.fromEntries(open.map(({ key, request }) => [key, request])),
    }),
  };
}
