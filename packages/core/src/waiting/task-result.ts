import { isRecord } from "../base/json-values.ts";
import { scrubText } from "../base/scrub-text.ts";
import type { HeldTask } from "./waiting-record.ts";

/** The extension of 2026-07-28, as capabilities name it. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** After what time a task is looked at again, if the server does not say so, in milliseconds. */
const defaultIntervalMs = 2_000;
/** A server that asks for less is asked no more often, in milliseconds. */
const leastIntervalMs = 100;
/** In characters. */
const maxMessageLength = 1_000;

/** The task in a result of `tools/call`; `undefined` for any other result. */
export function taskIn(result: unknown): HeldTask | undefined {
  if (!isRecord(result)) return undefined;
  if (result["resultType"] === "task") return readTask(result);
  return isRecord(result["task"]) ? readTask(result["task"]) : undefined;
}

/** A task of either revision. @param before the task until now, for what the server does not repeat */
export function readTask(
  value: Readonly<Record<string, unknown>>,
  before?: HeldTask,
): HeldTask | undefined {
  const { taskId, status, statusMessage, createdAt } = value;
  const { pollIntervalMs = value["pollInterval"], ttlMs = value["ttl"] } = value;
  if (typeof taskId !== "string" || typeof status !== "string") return undefined;
  const interval = Number.isFinite(pollIntervalMs) ? (pollIntervalMs as number) : undefined;
  const begun = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  const endsAt = Number.isFinite(ttlMs) ? begun + (ttlMs as number) : Number.NaN;
  const { statusMessage: _, ...known } = before ?? {};
  return {
    ...known,
    ...{ type: "task", taskId, status },
    ...(typeof statusMessage === "string" && {
      // It is shown, and the id is a secret.
      statusMessage: scrubText(statusMessage, [taskId], "[id]").slice(0, maxMessageLength),
    }),
    intervalMs: Math.max(leastIntervalMs, interval ?? before?.intervalMs ?? defaultIntervalMs),
    ...(Number.isFinite(endsAt) && { endsAt }),
  };
}
