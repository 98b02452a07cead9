import { McpSessionError } from "@durable-mcp/ai-sdk";
import type { PausingCalls } from "@durable-mcp/ai-sdk/internal";
import { sameJson } from "@durable-mcp/core/internal";
import { checkInputResponses, type InputResponses } from "@durable-mcp/core/waiting";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { GraphAnswer, GraphTask } from "./graph-task.ts";

/** A graph's answer to the questions of a round. */
interface RoundAnswer extends GraphAnswer {
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
    if (answer !== undefined) answers.push({ ...answer, round: each.round });
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
  pausing: PausingCalls,
  task: GraphTask,
  { id }: WaitingRecord,
  answers: readonly RoundAnswer[],
): Promise<void> {
  const { value, isBare, round } = answers.at(-1)!;
  if (!isBare) return;
  const isOld = answers.some((each) => each.round !== round && sameJson(each.value, value));
  if (isOld) throw unclear("it is the same as the answer to an earlier question");
  const { checkpoint } = task;
  const calls = checkpoint === undefined ? [] : await pausing.list();
  const isWithOthers = calls.some(
    (each) =>
      each.id !== id && each.state === "waiting" && each.shown?.at(-1)?.checkpoint === checkpoint,
  );
  if (isWithOthers) throw unclear("several calls of this step wait");
}

function unclear(why: string): McpSessionError {
  const message = `The answer may be for another question: ${why}. Answer by the id of the interrupt: new Command({ resume: { [id]: responses } }). Nothing was sent, and the call still waits.`;
  return new McpSessionError("INPUT_INVALID", message, { data: { field: "responses" } });
}

/** Why the answer of an earlier run was not sent. */
export function problemOf(
  { requests, round }: WaitingRecord,
  answers: readonly RoundAnswer[],
): unknown {
  const last = answers.findLast((answer) => answer.round === round);
  if (last === undefined) return undefined;
  try {
    checkInputResponses(requests, last.value as InputResponses);
    return undefined;
  } catch (error) {
    return error;
  }
}
