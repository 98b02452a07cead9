import type { Operation, Step } from "../life/agent-session.ts";
import {
  durationText,
  eventText,
  operationText,
  outcomeText,
  shownOperations,
} from "../life/words.ts";

/** A line in a step's box. */
export interface EventLine {
  readonly text: string;
  /** What stands at its right, if there is room. */
  readonly aside: string | undefined;
  readonly kind: "call" | "quiet" | "wait" | "bad";
  /** For what takes time: when it began and ended. */
  readonly from?: number;
  readonly until?: number;
}

const mostLines = 6;

/** What a step did, in the order in which it began; at most a few lines. */
export function operationLines(step: Step): EventLine[] {
  const operations = shownOperations(step).map((operation) => ({
    at: operation.from,
    line: lineOf(step, operation),
  }));
  const problems = step.entries.flatMap((entry) => {
    const said = eventText(entry);
    if (!said?.isProblem) return [];
    return [{ at: entry.time, line: { text: said.text, aside: undefined, kind: "bad" as const } }];
  });
  if (step.isFailed) {
    const line = { text: "the step failed", aside: undefined, kind: "bad" as const };
    problems.push({ at: step.until, line });
  }
  const lines = [...operations, ...problems].toSorted((a, b) => a.at - b.at);
  const shown = lines.slice(0, lines.length > mostLines ? mostLines - 1 : mostLines);
  const more = lines.length - shown.length;
  return [
    ...shown.map(({ line }) => line),
    ...(more > 0 ? [{ text: `and ${more} more`, aside: undefined, kind: "quiet" as const }] : []),
  ];
}

function lineOf(step: Step, operation: Operation): EventLine {
  const { kind, from, until = step.until, outcome } = operation;
  const said = outcomeText(operation);
  const took = operation.until === undefined ? undefined : durationText(operation.until - from);
  return {
    text: operationText(operation),
    aside: said ?? took,
    kind: kindOf(kind, outcome),
    ...{ from, until },
  };
}

function kindOf(kind: string, outcome: string | undefined): EventLine["kind"] {
  if (outcome === "waiting") return "wait";
  if (outcome !== "done") return "bad";
  return kind === "call" || kind === "answer" ? "call" : "quiet";
}
