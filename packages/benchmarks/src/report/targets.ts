import type { BenchCount, BenchPart, BenchRatio } from "./part.ts";
import { type Verdict, verdictOf } from "./ratio.ts";

/** A figure beside what it has to reach. */
export interface TargetResult {
  readonly label: string;
  readonly measured: string;
  /** @default none: the figure is only shown */
  readonly limit?: string;
  readonly verdict: Verdict;
}

export function ratioResult(one: BenchRatio): TargetResult {
  return {
    label: labelOf(one),
    measured: ratioText(one),
    ...limitOf(one.target),
    verdict: verdictOf(one),
  };
}

export function countResult(one: BenchCount): TargetResult {
  const isMissed = one.target !== undefined && one.value > one.target.atMost;
  return {
    label: labelOf(one),
    measured: countText(one),
    ...limitOf(one.target),
    verdict: isMissed ? "missed" : "met",
  };
}

/** Everything of a part that has a target. */
export function targetsOf({ ratios, counts }: BenchPart): TargetResult[] {
  return [...ratios.map(ratioResult), ...counts.map(countResult)].filter(
    ({ limit }) => limit !== undefined,
  );
}

/** How a verdict reads. An open one counts as missed. */
export const verdictTexts: Readonly<Record<Verdict, string>> = {
  met: "met",
  missed: "**missed**",
  open: "**not decided**",
};

export function ratioText({ ratio, low, high }: BenchRatio): string {
  const bounds = Number.isFinite(high) ? `${low.toFixed(2)}–${high.toFixed(2)}` : "no bounds";
  return `${ratio.toFixed(2)} (${bounds})`;
}

export function countText({ value, unit }: BenchCount): string {
  return `${figureText(value)} ${value === 1 ? unit.replace(/s$/, "") : unit}`;
}

function figureText(value: number): string {
  return String(Number(value.toFixed(2)));
}

function labelOf({ group, label }: { readonly group?: string; readonly label: string }): string {
  return group === undefined ? label : `${group}: ${label}`;
}

function limitOf(target: BenchRatio["target"]): Pick<TargetResult, "limit"> {
  if (target === undefined) return {};
  return { limit: "atLeast" in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}` };
}
