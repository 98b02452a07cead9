import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import { checkInputResponses, type InputRequests } from "@durable-mcp/core/waiting";
import { rpcError } from "../base/json-rpc.ts";
import type { TaskRecord } from "../records/task-record.ts";
import { idle } from "./leg-outcome.ts";

/**
 * Those of the answers that belong to open questions; others are ignored, as the specification wants.
 * @throws a JSON-RPC error, −32602, for one that does not fit its question
 */
export function checkedAnswers({ asked = [] }: TaskRecord, responses: Record<string, unknown>) {
  const open = asked.filter(
    ({ key, response }) => response === undefined && Object.hasOwn(responses, key),
  );
  const requests = Object.fromEntries(open.map(({ key, request }) => [key, request]));
  const given = Object.fromEntries(
    open.map(({ key, request }) => [key, withFieldsOf(request, responses[key])]),
  );
  try {
    return checkInputResponses(requests as unknown as InputRequests, given as never);
  } catch (error) {
    if (!McpSessionError.isInstance(error)) throw error;
    const [problem] = error.message.split(". Nothing was sent");
    throw rpcError(-32_602, `inputResponses: ${problem}. No answer was taken.`, {
      code: error.code,
      field: error.data.field,
    });
  }
}

/** An answer with the fields of its form. JSON Schema allows others, which no handler has asked for. */
function withFieldsOf({ params }: Record<string, unknown>, answer: unknown): unknown {
  const schema = isRecord(params) ? params["requestedSchema"] : undefined;
  const fields = isRecord(schema) ? schema["properties"] : undefined;
  if (!isRecord(fields) || !isRecord(answer) || !isRecord(answer["content"])) return answer;
  const content = Object.entries(answer["content"]).filter(([name]) => Object.hasOwn(fields, name));
  return { ...answer, content: Object.fromEntries(content) };
}

/** The task with the answers; with the last one its next leg begins. */
export function answered(
  record: TaskRecord,
  given: Readonly<Record<string, unknown>>,
  worker: NonNullable<TaskRecord["worker"]>,
): TaskRecord | undefined {
  let isNew = false;
  const asked = (record.asked ?? []).map((question) => {
    const { key, response } = question;
    if (response !== undefined || !Object.hasOwn(given, key)) return question;
    isNew = true;
    return { ...question, response: given[key] as Record<string, unknown> };
  });
  if (!isNew) return undefined;
  if (asked.some(({ response }) => response === undefined)) return { ...record, asked };
  const inputResponses = Object.fromEntries(asked.map(({ name, response }) => [name, response]));
  const params = { ...record.params, inputResponses };
  return { ...idle(record), status: "working", params, worker, runs: 1 };
}
