import { isRecord } from "../../base/json-values.ts";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { scrubText } from "../../base/scrub-text.ts";
import { isUsableId, serverLimits, pauseOf } from "../../base/server-limits.ts";
import type { HeldTask } from "../record/held.ts";

/** The extension of 2026-07-28, as capabilities name it. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** After what time a task is looked at again, if the server does not say so, in milliseconds. */
const defaultIntervalMs = 2_000;
/** In characters. What is shown of it is shorter. */
const maxMessageLength = 16_384;
const statuses = ["working", "input_required", "completed", "failed", "cancelled"];

/** The task in a result of `tools/call`; `undefined` for any other result, and for a task that nobody can follow. */
export function taskIn(result: unknown): HeldTask | undefined {
  const task = readTask(madeOf(result) ?? {});
  return task && isUsableId(task.taskId) ? task : undefined;
}

/** What a server has made of a call; `undefined` if it is no task. */
function madeOf(result: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(result)) return undefined;
  if (result["resultType"] === "task") return result;
  return isRecord(result["task"]) ? result["task"] : undefined;
}

/** The error of a call whose task has an id that is too long, or no text for a header; `undefined` for any other. */
export function unusableTask(result: unknown): McpSessionError | undefined {
  const task = readTask(madeOf(result) ?? {});
  if (task === undefined || isUsableId(task.taskId)) return undefined;
  return new McpSessionError(
    "OUTCOME_UNKNOWN",
    "The server made a task of the call, with an id that is too long to be kept or cannot be sent. The work may go on there; look at the server before you make the call again.",
  );
}

/** A task of either revision. @param before the task until now, for what the server does not repeat */
export function readTask(
  value: Readonly<Record<string, unknown>>,
  before?: HeldTask,
): HeldTask | undefined {
  const { taskId, status, statusMessage, createdAt } = value;
  const { pollIntervalMs = value["pollInterval"], ttlMs = value["ttl"] } = value;
  if (typeof taskId !== "string" || typeof status !== "string") return undefined;
  const interval = pauseOf(pollIntervalMs) ?? before?.intervalMs ?? defaultIntervalMs;
  const begun = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  // Some say -1 for a task without an end.
  const endsAt = typeof ttlMs === "number" && ttlMs >= 0 ? begun + ttlMs : Number.NaN;
  const { statusMessage: _, ...known } = before ?? {};
  return {
    ...known,
    ...{ type: "task", taskId, status: statuses.includes(status) ? status : "working" },
    ...(typeof statusMessage === "string" && {
      // It is shown, and the id is a secret.
      statusMessage: scrubText(statusMessage, [taskId], "[id]").slice(0, maxMessageLength),
    }),
    intervalMs: Math.max(serverLimits.leastPauseMs, interval),
    ...(Number.isFinite(endsAt) && { endsAt }),
  };
}
