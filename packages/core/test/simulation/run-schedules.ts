import { type Counts, type Invariant, invariants, type Violation } from "./invariant-model.ts";
import { type Parts, realParts } from "./parts.ts";
import { createPlan, type Plan } from "./plan.ts";
import { runPlan } from "./run-plan.ts";
import { shrinkPlan } from "./shrink-plan.ts";

export interface SchedulesResult {
  /** How many were run. */
  readonly schedules: number;
  readonly counts: Counts;
  /** The first schedule that broke an invariant; none was run after it. */
  readonly failure: { readonly seed: number; readonly violation: Violation } | undefined;
}

/** Runs the schedules of `seed`, `seed + 1` and so on, one after the other. */
export async function runSchedules(
  seed: number,
  schedules: number,
  {
    parts = realParts,
    fails = () => true,
    invariant,
  }: {
    parts?: Parts;
    /** Which violations count. @default all */
    fails?: (violation: Violation) => boolean;
    /** Runs only the world that this invariant concerns. @default both */
    invariant?: Invariant;
  } = {},
): Promise<SchedulesResult> {
  const counts: Counts = {};
  for (let index = 0; index < schedules; index += 1) {
    const result = await runPlan(createPlan(seed + index), parts, invariant);
    addCounts(counts, result.counts);
    const violation = result.violations.find(fails);
    if (violation !== undefined) {
      return { schedules: index + 1, counts, failure: { seed: seed + index, violation } };
    }
  }
  return { schedules, counts, failure: undefined };
}

export function addCounts(total: Counts, more: Counts): void {
  for (const [name, count] of Object.entries(more)) total[name] = (total[name] ?? 0) + count;
}

/** What to print of a failing schedule: the invariant, the smallest plan that breaks it, and what happens in it. */
export async function describeFailure(
  { seed, violation }: NonNullable<SchedulesResult["failure"]>,
  parts: Parts = realParts,
): Promise<string> {
  const { invariant } = violation;
  const plan = await shrinkPlan(createPlan(seed), invariant, parts);
  const { violations, trace } = await runPlan(plan, parts, invariant);
  return [
    `seed ${seed} breaks "${invariant}": ${invariants[invariant]}`,
    ...violations.map((found) => `  ${found.invariant}: ${found.message}`),
    "the smallest plan that does:",
    describePlan(plan),
    "what happens in it:",
    ...trace.map((line) => `  ${line}`),
    `replay: npm run lab -- simulate --schedules 1 --seed ${seed}`,
  ].join("\n");
}

function describePlan(plan: Plan): string {
  const { processes, disturbances, faults, savePoint, heedsSignals, waiting } = plan;
  const all = { ...faults, ...waiting.faults };
  const rates = Object.entries(all).filter(([, rate]) => rate > 0);
  return [
    `save point: ${savePoint}; aborts are ${heedsSignals ? "" : "not "}heeded`,
    `faults: ${rates.map(([name, rate]) => `${name} ${rate.toFixed(2)}`).join(", ") || "none"}`,
    ...processes.map((process) => JSON.stringify(process)),
    ...disturbances.map((disturbance) => JSON.stringify(disturbance)),
    `calls that wait: ${waiting.onExpired} after ${waiting.maxAgeMs} ms`,
    ...[...waiting.calls, ...waiting.actors].map((each) => JSON.stringify(each)),
  ]
    .map((line) => `  ${line}`)
    .join("\n");
}
