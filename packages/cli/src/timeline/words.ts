import { printDuration } from "../output/print-values.ts";
import type { Operation, Step } from "./agent-session.ts";
import { countOf, type LogEntry, textOf } from "./read-log.ts";

/** The number of a process, without what tells it from others of that number. */
export function processText(process: string): string {
  return process.replace(/-[\da-f]+$/, "");
}

const operationWords = new Map([
  ["connect", "handshake"],
  ["list", "list of tools"],
  ["recover", "new session"],
  ["ready", "wait for the server"],
]);

export function operationText({ kind, tool }: Pick<Operation, "kind" | "tool">): string {
  if (kind === "call") return tool ?? "call";
  if (kind === "answer") return tool === undefined ? "answer" : `answer to ${tool}`;
  return operationWords.get(kind) ?? kind;
}

/** How an operation ended, where that has to be said. */
export function outcomeText({ kind, until, outcome, code }: Operation): string | undefined {
  if (until === undefined) return "no end in the log";
  if (outcome === undefined || outcome === "done") return undefined;
  if (outcome === "tool-error") return "the tool failed";
  if (outcome === "waiting") return kind === "answer" ? "asked again" : "waits";
  return code === undefined ? outcome : `${outcome}: ${code}`;
}

/** What happened in a step beside its operations; `undefined` for what goes without saying. */
export function eventText({ event, fields }: LogEntry) {
  if (["client", "operation", "step-ended", "waiting-call", "notification"].includes(event))
    return undefined;
  const reason = textOf(fields, "reason") ?? textOf(fields, "code");
  const why = reason === undefined ? "" : `: ${reason}`;
  if (event === "tools-changed" && reason === "new-list")
    return { text: "tools changed", isProblem: false };
  if (event === "lost") {
    const status = countOf(fields, "status");
    const by = status === undefined ? "" : ` (${status})`;
    return { text: `session lost${by}`, isProblem: true };
  }
  const fine = fineEvents.get(event);
  if (fine !== undefined) return { text: fine, isProblem: false };
  const problem = problemEvents.get(event);
  return { text: `${problem ?? event}${why}`, isProblem: problem !== undefined };
}

const fineEvents = new Map([
  ["started", "new session"],
  ["resumed", "session kept"],
  ["recovered", "went on in a new session"],
  ["restored", "session not lost after all"],
  ["sessionless", "server without sessions"],
  ["stateless", "revision without sessions"],
  ["adopted", "took another process's session"],
]);

const problemEvents = new Map([
  ["unavailable", "server unavailable"],
  ["authorization-required", "the user has to sign in"],
  ["start-failed", "start of the session failed"],
  ["ids-vary", "the server varies its session ids"],
  ["discarded", "saved session not used"],
  ["conflict", "another process saved first"],
  ["store-failed", "store failed"],
  ["close-failed", "close failed"],
  ["not-ended", "session not ended on the server"],
  ["tools-unmatched", "filter names unknown tools"],
  ["tools-need-tasks", "tools that need tasks"],
  ["tools-collide", "tools with the same name"],
  ["cannot-wait", "its calls cannot wait"],
  ["cannot-ask", "the server asks, and nobody can answer"],
  ["session-unused", "the server's session is not kept"],
  ["used-after-run", "a tool was called after the run"],
]);

/** The calls of a step, and other operations that say something: no handshake that the state answered. */
function shownOperations({ operations, entries }: Step): Operation[] {
  const has = (event: string, connection: string) =>
    entries.some((entry) => entry.event === event && entry.connection === connection);
  return operations.filter(({ kind, connection }) => {
    if (kind === "list") return false;
    return kind !== "connect" || !has("resumed", connection);
  });
}

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
  const took = operation.until === undefined ? undefined : printDuration(operation.until - from);
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
