import { printDuration } from "../output/print-values.ts";
import type { Operation, Step } from "./agent-session.ts";
import { countOf, type LogEntry, textOf } from "./read-log.ts";

/** The number of a process, without what tells it from others of that number. */
export function processText(process: string): string {
  return process.replace(/-[\da-f]+$/, "");
}

/** Something that a step did, or that happened in it. */
export interface Deed {
  readonly at: number;
  readonly connection: string;
  readonly text: string;
  /** How it ended, where that has to be said. */
  readonly said?: string | undefined;
  readonly took?: string | undefined;
  /** When an operation ended. */
  readonly until?: number;
  readonly kind: "call" | "quiet" | "wait" | "bad";
  /** Whether it says enough for the picture: no list, no handshake that the state answered, nothing that is fine. */
  readonly isShown: boolean;
}

/** What a step did and met, in the order in which it began. */
export function deedsOf(step: Step): Deed[] {
  const operations = step.operations.map((operation) => deedOf(step, operation));
  const events = step.entries.flatMap((entry) => {
    const { time: at, connection } = entry;
    const event = eventText(entry);
    if (event === undefined) return [];
    const { text, isProblem } = event;
    return [
      { at, connection, text, kind: isProblem ? "bad" : "quiet", isShown: isProblem } as const,
    ];
  });
  return [...operations, ...events].toSorted((a, b) => a.at - b.at);
}

function deedOf(step: Step, operation: Operation): Deed {
  const { kind, connection, from: at, until = step.until, outcome } = operation;
  const isResumed = ({ event, connection: of }: LogEntry) =>
    event === "resumed" && of === connection;
  const isKept = kind === "connect" && step.entries.some(isResumed);
  return {
    ...{ at, connection, until, said: outcomeText(operation) },
    text: `${operationText(operation)}${isKept ? " from what was kept" : ""}`,
    took: operation.until === undefined ? undefined : printDuration(until - at),
    kind: kindOf(kind, outcome),
    isShown: kind !== "list" && !isKept,
  };
}

function kindOf(kind: string, outcome: string | undefined): Deed["kind"] {
  if (outcome === "waiting") return "wait";
  if (outcome !== "done") return "bad";
  return kind === "call" || kind === "answer" ? "call" : "quiet";
}

const operationWords = new Map([
  ["connect", "handshake"],
  ["list", "list of tools"],
  ["recover", "new session"],
  ["ready", "wait for the server"],
]);

function operationText({ kind, tool }: Pick<Operation, "kind" | "tool">): string {
  if (kind === "call") return tool ?? "call";
  if (kind === "answer") return tool === undefined ? "answer" : `answer to ${tool}`;
  return operationWords.get(kind) ?? kind;
}

/** How an operation ended, where that has to be said. */
function outcomeText({ kind, until, outcome, code }: Operation): string | undefined {
  if (until === undefined) return "no end in the log";
  if (outcome === undefined || outcome === "done") return undefined;
  if (outcome === "tool-error") return "the tool failed";
  if (outcome === "waiting") return kind === "answer" ? "asked again" : "waits";
  return code === undefined ? outcome : `${outcome}: ${code}`;
}

/** What happened in a step beside its operations; `undefined` for what goes without saying. */
function eventText({ event, fields }: LogEntry) {
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
  ["stream-taken", "another step listens on the session"],
  ["era-unknown", "the server did not say which revisions it speaks"],
  ["list-cut", "a list of the server does not end"],
  ["discarded", "saved session not used"],
  ["conflict", "another process saved first"],
  ["store-failed", "store failed"],
  ["close-failed", "close failed"],
  ["not-ended", "session not ended on the server"],
  ["tools-unmatched", "filter names unknown tools"],
  ["tools-need-tasks", "tools that need tasks"],
  ["tools-collide", "tools with the same name"],
  ["cannot-wait", "its calls cannot wait"],
  ["answer-unsure", "a person's answer may have been lost, and goes out again"],
  ["cannot-ask", "the server asks, and nobody can answer"],
  ["session-unused", "the server's session is not kept"],
  ["used-after-run", "a tool was called after the run"],
]);
