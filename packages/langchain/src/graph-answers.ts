import { McpSessionError } from "@durable-mcp/sessions";
import { sameJson } from "@durable-mcp/core/internal";
import { checkInputResponses, type InputResponses } from "@durable-mcp/core/waiting";
import type { KeptCalls, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { GraphAnswer, GraphTask } from "./graph-task.ts";

/** A graph's answer to the questions of a round. */
interface RoundAnswer extends GraphAnswer {
  readonly place: number;
  readonly round: number;
}

/**
 * Repeats the interrupts of earlier runs in their order, because those of the graph that come after them are counted
 * from there.
 *
 * @returns their answers, and whether the questions of the call's round were shown last, and have an answer
 */
export function repeatInterrupts({ shown = [], round }: WaitingRecord, task: GraphTask) {
  const answers: RoundAnswer[] = [];
  for (const each of shown) {
    const answer = task.answerAt(each.place);
    if (answer !== undefined) answers.push({ ...answer, ...each });
  }
  const isAll = shown.length > 0 && answers.length === shown.length;
  return { answers, isAnswered: isAll && answers.at(-1)!.round === round };
}

/**
 * Refuses an answer without the id of its interrupt, where it may be for another question.
 *
 * @throws {McpSessionError} `INPUT_INVALID`
 */
export async function refuseUnclear(
  { records }: KeptCalls,
  task: GraphTask,
  record: WaitingRecord,
  answer: RoundAnswer,
): Promise<void> {
  if (!answer.isBare) return;
  const { checkpoint } = task;
  const all = checkpoint === undefined ? [] : await records.list();
  const isWithOthers = all.some(
    ({ call: { id, state, shown } }) =>
      id !== record.id && state === "waiting" && shown?.at(-1)?.checkpoint === checkpoint,
  );
  if (isWithOthers || isRepeated(task, record, answer)) throw unclear();
}

/** Whether an answer in the same task was the same, but one to these questions that did not get to the server. */
function isRepeated(
  task: GraphTask,
  { shown = [], round }: WaitingRecord,
  { place, value }: RoundAnswer,
): boolean {
  return Array.from({ length: place }, (_, earlier) => earlier).some((earlier) => {
    const index = shown.findIndex((each) => each.place === earlier);
    const isSameQuestion = shown[index]?.round === round && !shown[index + 1]?.isUnclear;
    return !isSameQuestion && sameJson(task.answerAt(earlier)?.value, value);
  });
}

const unclearAnswers = new WeakSet<object>();

/** Whether an error says that an answer may be for another question. */
export function isUnclear(error: unknown): boolean {
  return unclearAnswers.has(error as object);
}

function unclear(): McpSessionError {
  const error = new McpSessionError(
    "INPUT_INVALID",
    "The answer may be for another question: it came without the id of its interrupt, and several calls of this step wait, or an earlier question had the same answer. Answer with new Command({ resume: { [id]: responses } }). Nothing was sent, and the call still waits.",
    { data: { field: "responses" } },
  );
  unclearAnswers.add(error);
  return error;
}

/** Why the answer of an earlier run was not sent. */
export function problemOf(
  { requests, round, shown }: WaitingRecord,
  answers: readonly RoundAnswer[],
): unknown {
  const last = answers.findLast((answer) => answer.round === round);
  if (last === undefined) return undefined;
  if (shown?.at(-1)?.isUnclear) return unclear();
  try {
    checkInputResponses(requests, last.value as InputResponses);
    return undefined;
  } catch (error) {
    return error;
  }
}
