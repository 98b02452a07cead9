import { countOf, type LogEntry, textOf } from "./read-log.ts";
import { findSpans, type SessionSpan } from "./session-spans.ts";

/** What a step did: a call, an answer, a handshake. */
export interface Operation {
  readonly kind: string;
  readonly connection: string;
  readonly tool: string | undefined;
  readonly from: number;
  /** `undefined` if it has no end in the log. */
  readonly until: number | undefined;
  readonly outcome: string | undefined;
  readonly code: string | undefined;
}

/** One process's turn of work on an agent session. */
export interface Step {
  /** From 1, in the order in which they began; answers have numbers of their own. */
  readonly number: number;
  /** Whether it only sent a person's answer. */
  readonly isAnswer: boolean;
  readonly process: string;
  readonly from: number;
  readonly until: number;
  /** Whether the log has its end. Without one it is under way, or its process died. */
  readonly isEnded: boolean;
  /** Whether its end says that it failed, such as its model. */
  readonly isFailed: boolean;
  /** HTTP requests by connection; empty if the log has no end of the step. */
  readonly requests: ReadonlyMap<string, number>;
  readonly operations: readonly Operation[];
  readonly entries: readonly LogEntry[];
}

/** An agent session as it lived. */
export interface AgentSession {
  /** The digest that stands for its id; `""` for steps without one. */
  readonly digest: string;
  readonly steps: readonly Step[];
  readonly spans: readonly SessionSpan[];
  readonly waits: readonly Wait[];
}

/** `Step 2`, or `Answer 1`. */
export function titleOf({ isAnswer, number }: Step): string {
  return `${isAnswer ? "Answer" : "Step"} ${number}`;
}

/** How many HTTP requests a step sent. */
export function sentBy({ requests }: Step): number {
  return [...requests.values()].reduce((sum, sent) => sum + sent, 0);
}

/** The agent sessions of a log, the one that began first first. */
export function findAgentSessions(entries: readonly LogEntry[]): AgentSession[] {
  return [...Map.groupBy(entries, ({ session }) => session)].flatMap(([digest, own]) => {
    const inSteps = own.filter(({ step }) => step !== undefined);
    if (inSteps.length === 0) return [];
    const steps = findSteps(inSteps);
    return [{ digest, steps, spans: findSpans(own, steps), waits: findWaits(own) }];
  });
}

function findSteps(entries: readonly LogEntry[]): Step[] {
  // Two processes may have made the same short id.
  const groups = Map.groupBy(entries, ({ step, process }) => JSON.stringify([process, step]));
  const counts = { steps: 0, answers: 0 };
  return [...groups.values()]
    .map(readStep)
    .toSorted((a, b) => a.from - b.from)
    .map((step) => ({ ...step, number: (counts[step.isAnswer ? "answers" : "steps"] += 1) }));
}

function readStep(entries: readonly LogEntry[]): Omit<Step, "number"> {
  const [first] = entries;
  const ends = entries.filter(({ event }) => event === "step-ended");
  const operations = findOperations(entries);
  const last = entries.at(-1)!.time;
  const begins = ends.map(({ time, fields }) => time - (countOf(fields, "durationMs") ?? 0));
  return {
    process: first!.process,
    from: Math.min(first!.time, ...begins),
    until: last,
    isEnded: ends.length > 0,
    isFailed: ends.some(({ fields }) => fields["outcome"] === "failed"),
    isAnswer: operations.length > 0 && operations.every(({ kind }) => kind === "answer"),
    requests: new Map(
      ends.map(({ connection, fields }) => [connection, countOf(fields, "requests") ?? 0]),
    ),
    operations,
    entries,
  };
}

function findOperations(entries: readonly LogEntry[]): Operation[] {
  const found = new Map<string, Operation>();
  for (const { event, connection, time, fields } of entries) {
    if (event !== "operation") continue;
    const kind = textOf(fields, "operation") ?? "";
    const tool = textOf(fields, "tool");
    const key = JSON.stringify([connection, countOf(fields, "number")]);
    const isEnd = fields["action"] === "ended";
    const from = found.get(key)?.from ?? time - (countOf(fields, "durationMs") ?? 0);
    found.set(key, {
      ...{ kind, connection, tool, from },
      until: isEnd ? time : undefined,
      outcome: isEnd ? textOf(fields, "outcome") : undefined,
      code: isEnd ? textOf(fields, "code") : undefined,
    });
  }
  return [...found.values()];
}

/** A call that waited for a person, or for a sign-in. */
export interface Wait {
  readonly connection: string;
  readonly tool: string;
  readonly from: number;
  /** `undefined` if it still waits at the end of the log. */
  until: number | undefined;
  /** When each round of the server's questions began; the first is 0 for a sign-in. */
  readonly rounds: { readonly round: number; readonly at: number }[];
  state: string;
}

/**
 * The waiting calls of an agent session. The log has no ids of calls, so of several calls of one tool that wait at
 * once the oldest one in that round is taken.
 */
function findWaits(entries: readonly LogEntry[]): Wait[] {
  const waits: Wait[] = [];
  /** The steps that sent an answer: there the same questions may wait again. */
  const answering = new Set<string | undefined>();
  for (const { event, connection, time, step, fields } of entries) {
    if (fields["operation"] === "answer") answering.add(step);
    if (event !== "waiting-call") continue;
    const tool = textOf(fields, "tool") ?? "";
    const state = textOf(fields, "state") ?? "";
    const round = countOf(fields, "round") ?? 0;
    const open = waits.filter(
      (wait) => wait.until === undefined && wait.connection === connection && wait.tool === tool,
    );
    const lastRound = ({ rounds }: Wait) => rounds.at(-1)?.round ?? 0;
    if (state === "waiting") {
      const before = open.find((wait) => lastRound(wait) === round - 1 && round > 1);
      const isAgain = answering.has(step) && open.some((wait) => lastRound(wait) === round);
      const rounds = [{ round, at: time }];
      if (before) before.rounds.push(...rounds);
      else if (!isAgain) {
        waits.push({ connection, tool, from: time, until: undefined, rounds, state });
      }
      continue;
    }
    const over = open.find((wait) => lastRound(wait) === round) ?? open[0];
    if (over) Object.assign(over, { until: time, state });
  }
  return waits;
}
