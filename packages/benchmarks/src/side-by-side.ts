/** One of several ways to do the same thing. */
export interface Candidate {
  readonly name: string;
  run(): Promise<unknown>;
}

export interface Measurement {
  readonly name: string;
  readonly medianMs: number;
  /** How much longer than the first candidate it takes. */
  readonly extraMs: number;
  /** Its time divided by the first candidate's. */
  readonly ratio: number;
}

/**
 * Times candidates against the first of them. Each round runs every candidate once, in an order
 * that changes from round to round, so that whatever else the machine does meets all of them
 * alike. (Vitest's `bench` runs one candidate to the end before the next.)
 */
export async function measureSideBySide(
  candidates: readonly Candidate[],
  rounds: number,
): Promise<Measurement[]> {
  const times = candidates.map((): number[] => []);
  const warmUpRounds = Math.ceil(rounds / 5);
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (let turn = 0; turn < candidates.length; turn += 1) {
      const index = (turn + round + warmUpRounds) % candidates.length;
      const start = performance.now();
      await candidates[index]?.run();
      if (round >= 0) times[index]?.push(performance.now() - start);
    }
  }
  const medians = times.map(median);
  const baseline = medians[0] ?? Number.NaN;
  return medians.map((medianMs, index) => ({
    name: candidates[index]?.name ?? "",
    medianMs,
    extraMs: medianMs - baseline,
    ratio: medianMs / baseline,
  }));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[middle]];
  return (low + high) / 2;
}
