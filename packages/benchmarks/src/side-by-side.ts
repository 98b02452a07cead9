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
 * Times candidates against the first of them: medians of many rounds. Each round runs every
 * candidate once, in an order that changes from round to round, so that whatever else the machine
 * does meets all of them alike. (Vitest's `bench` runs one to the end before the next.)
 */
export async function measureSideBySide(
  candidates: readonly Candidate[],
  rounds: number,
): Promise<Measurement[]> {
  const timed = candidates.map((candidate) => ({ ...candidate, timesMs: [] as number[] }));
  const warmUpRounds = Math.ceil(rounds / 4);
  for (let round = 0; round < warmUpRounds + rounds; round += 1) {
    const first = round % timed.length;
    for (const { run, timesMs } of [...timed.slice(first), ...timed.slice(0, first)]) {
      const start = performance.now();
      await run();
      if (round >= warmUpRounds) timesMs.push(performance.now() - start);
    }
  }
  const medians = timed.map(({ name, timesMs }) => ({ name, medianMs: median(timesMs) }));
  const baseline = medians[0]?.medianMs ?? Number.NaN;
  return medians.map(({ name, medianMs }) => ({
    name,
    medianMs,
    extraMs: medianMs - baseline,
    ratio: medianMs / baseline,
  }));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
