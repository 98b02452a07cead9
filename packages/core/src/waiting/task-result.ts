import { isRecord } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { scrubText } from "../base/scrub-text.ts";
import { lastEventIdHeader } from "../answer/resume-stream.ts";
import type { HeldTask } from "./waiting-record.ts";

/** The extension of 2026-07-28, as capabilities name it. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** After what time a task is looked at again, if the server does not say so, in milliseconds. */
const defaultIntervalMs = 2_000;
/** A server that asks for less is asked no more often, in milliseconds. */
const leastIntervalMs = 100;
/** In characters. */
const maxMessageLength = 1_000;
const maxStatusLength = 100;

/** The task in a result of `tools/call`; `undefined` for any other result, and for a task that nobody can follow. */
export function taskIn(result: unknown): HeldTask | undefined {
  const task = readTask(madeOf(result) ?? {});
  return task && canFollow(task) ? task : undefined;
}

/** What a server has made of a call; `undefined` if it is no task. */
function madeOf(result: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(result)) return undefined;
  if (result["resultType"] === "task") return result;
  return isRecord(result["task"]) ? result["task"] : undefined;
}

/** Whether a record can keep the id of a task, and a header carry it. */
const canFollow = ({ taskId }: HeldTask) => lastEventIdHeader(taskId) !== undefined;

/** The error of a call whose task has an id that is too long, or no text for a header; `undefined` for any other. */
export function unusableTask(result: unknown): McpSessionError | undefined {
  const task = readTask(madeOf(result) ?? {});
  if (task === undefined || canFollow(task)) return undefined;
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
  const interval = Number.isFinite(pollIntervalMs) ? (pollIntervalMs as number) : undefined;
  const begun = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  const endsAt = Number.isFinite(ttlMs) ? begun + (ttlMs as number) : Number.NaN;
  const { statusMessage: _, ...known } = before ?? {};
  return {
    ...known,
    ...{ type: "task", taskId, status: status.slice(0, maxStatusLength) },
    ...(typeof statusMessage === "string" && {
      // It is shown, and the id is a secret.
      statusMessage: scrubText(statusMessage, [taskId], "[id]").slice(0, maxMessageLength),
    }),
    intervalMs: Math.max(leastIntervalMs, interval ?? before?.intervalMs ?? defaultIntervalMs),
    ...(Number.isFinite(endsAt) && { endsAt }),
  };
}
