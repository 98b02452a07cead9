/** What the answer to one leg of a task makes of the task. */

import { isRecord } from "@durable-mcp/core/internal";
import type { Answer } from "../base/mcp-types.ts";
import type { TaskRecord } from "../records/task-record.ts";

type Question = NonNullable<TaskRecord["asked"]>[number];

/** The task after the answer; one that would take more than `maxLength` JSON characters has failed instead. */
export function withAnswer(
  record: TaskRecord,
  answer: Answer | undefined,
  { now, maxLength }: { readonly now: number; readonly maxLength: number },
): TaskRecord {
  const next = { ...settle(record, answer), updatedAt: now };
  if (JSON.stringify(next).length <= maxLength) return next;
  const long = `The result of this task is longer than ${maxLength} characters of JSON, and was not kept. Its work has been done.`;
  return { ...failedWith(record, long), updatedAt: now };
}

/** @param code of `data`: a stable code, as in other errors of this server */
export function failedWith(record: TaskRecord, message: string, code?: string): TaskRecord {
  const error = { code: -32_603, message, ...(code !== undefined && { data: { code } }) };
  return { ...idle(record), status: "failed", error };
}

/** The task without a worker and without questions. */
export function idle(record: TaskRecord): TaskRecord {
  const { worker: _, asked: _asked, ...others } = record;
  return others;
}

function settle(record: TaskRecord, answer: Answer | undefined): TaskRecord {
  if (!answer) {
    return failedWith(
      record,
      "The work of this task ended without an answer. Whether it was done is unknown; check before you call again.",
      "OUTCOME_UNKNOWN",
    );
  }
  if ("error" in answer) return { ...idle(record), status: "failed", error: answer.error };
  const { resultType, ...result } = answer.result;
  if (resultType === "input_required") return asking(record, result);
  return { ...idle(record), status: "completed", result };
}

function asking(record: TaskRecord, { inputRequests, requestState }: Record<string, unknown>) {
  const requests = isRecord(inputRequests) ? Object.entries(inputRequests) : [];
  if (requests.length === 0) {
    const fix =
      "The tool returned inputRequired() without inputRequests, and a task waits for answers.";
    return failedWith(record, fix);
  }
  const keys = [...record.keys];
  const asked = requests.map(([name, request]): Question => {
    const key = newKey(name, keys);
    keys.push(key);
    return { key, name, request: request as Record<string, unknown> };
  });
  const { inputResponses: _, requestState: _state, ...params } = record.params;
  return {
    ...{ ...idle(record), status: "input_required" as const, asked, keys },
    params: { ...params, ...(requestState !== undefined && { requestState }) },
  };
}

/** Authors ask with the same key again; clients are told each key once. */
function newKey(name: string, used: readonly string[]): string {
  for (let n = 1; ; n += 1) {
    const key = n === 1 ? name : `${name}-${n}`;
    if (!used.includes(key)) return key;
  }
}
