import type { Invariant } from "./invariant-model.ts";
import { type Parts, realParts } from "./parts.ts";
import type { Plan } from "./plan.ts";
import { runSchedule, type ScheduleResult } from "./run-schedule.ts";
import { runWaiting } from "./run-waiting.ts";

/** The invariants that only concern calls that wait. */
const ofWaiting: ReadonlySet<Invariant> = new Set([
  "question-kept",
  "one-leg",
  "same-call",
  "look-due",
  "look-claimed",
  "claim-kept",
  "answer-kept",
  "own-result",
  "settleable",
  "state-secret",
]);

/**
 * Runs the worlds of a plan, one after the other: sessions, and calls that wait.
 *
 * @param invariant runs only the world that it concerns. @default both
 */
export async function runPlan(
  plan: Plan,
  parts: Parts = realParts,
  invariant?: Invariant,
): Promise<ScheduleResult> {
  const runWaitingCalls = async () => await runWaiting(plan.seed, plan.waiting, parts);
  if (invariant !== undefined && ofWaiting.has(invariant)) return await runWaitingCalls();
  const sessions = await runSchedule(plan, parts);
  const waiting = await runWaitingCalls();
  return {
    violations: [...sessions.violations, ...waiting.violations],
    counts: { ...sessions.counts, ...waiting.counts },
    trace: [...sessions.trace, "calls that wait:", ...waiting.trace],
  };
}
