import type { BenchRatio } from "./part.ts";

/** How often the true median lies outside the bounds. */
const error = 0.05;

/**
 * The median of `ours` divided by `theirs`, round by round, with the 95 % bounds of that median. The bounds are two of
 * the ratios themselves (order statistics), so nothing is assumed of how the ratios are distributed. Fewer than six
 * rounds bound nothing.
 */
export function medianRatio(
  ours: readonly number[],
  theirs: readonly number[],
): Pick<BenchRatio, "ratio" | "low" | "high"> {
  if (ours.length !== theirs.length || ours.length === 0) {
    throw new RangeError("A ratio needs rounds, and the figures of both sides for each of them.");
  }
  const ratios = ours.map((figure, round) => figure / theirs[round]!).toSorted((a, b) => a - b);
  const count = ratios.length;
  const outer = ratiosOutside(count);
  return {
    ratio: (ratios[(count - 1) >> 1]! + ratios[count >> 1]!) / 2,
    low: ratios[outer - 1] ?? 0,
    high: ratios[count - outer] ?? Number.POSITIVE_INFINITY,
  };
}

/** What is known of a target: `open` when it lies between the bounds. */
export type Verdict = "met" | "missed" | "open";

/** A target is met when both bounds meet it. None is met. */
export function verdictOf({ low, high, target }: Omit<BenchRatio, "label">): Verdict {
  if (target === undefined) return "met";
  const isMet = (ratio: number) =>
    "atLeast" in target ? ratio >= target.atLeast : ratio <= target.atMost;
  if (isMet(low) !== isMet(high)) return "open";
  return isMet(low) ? "met" : "missed";
}

/**
 * How many of `count` sorted values lie below the interval, the lower bound included: the largest number at which the
 * binomial tail stays within half of the error.
 */
function ratiosOutside(count: number): number {
  // In logarithms: 0.5 ** 1,100 is 0.
  let logProbability = -count * Math.LN2;
  let tail = Math.exp(logProbability);
  let outside = 0;
  while (tail <= error / 2) {
    logProbability += Math.log((count - outside) / (outside + 1));
    tail += Math.exp(logProbability);
    outside += 1;
  }
  return outside;
}
