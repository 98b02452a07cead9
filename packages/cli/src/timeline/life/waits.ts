import { countOf, type LogEntry, textOf } from "../log/log-entry.ts";

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
export function findWaits(entries: readonly LogEntry[]): Wait[] {
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
