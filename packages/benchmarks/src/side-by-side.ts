export interface Measurement {
  readonly medianMs: number;
  /** How much longer than the first candidate it takes. */
  readonly extraMs: number;
  /** Its time divided by the first candidate's. */
  readonly ratio: number;
}

/**
 * Times several ways to do the same thing against the first of them: medians of many rounds. Each
 * round runs every candidate once, in an order that changes from round to round, so that whatever
 * else the machine does meets all of them alike. (Vitest's `bench` runs one candidate to the end
 * before the next.)
 */
export async function measureSideBySide<Name extends string>(
  candidates: Readonly<Record<Name, () => Promise<unknown>>>,
  rounds: number,
): Promise<Record<Name, Measurement>> {
  const timed = Object.entries<() => Promise<unknown>>(candidates).map(([name, run]) => ({
    name,
    run,
    timesMs: [] as number[],
  }));
  const warmUpRounds = Math.ceil(rounds / 4);
  for (let round = 0; round < warmUpRounds + rounds; round += 1) {
    const first = round % timed.length;
    for (const { run, timesMs } of [...timed.slice(first), ...timed.slice(0, first)]) {
      const start = performance.now();
      await run();
      if (round >= warmUpRounds) timesMs.push(performance.now() - start);
    }
  }
  const baselineMs = median(timed[0]?.timesMs ?? []);
  const measurements = timed.map(({ name, timesMs }) => {
    const medianMs = median(timesMs);
    return [name, { medianMs, extraMs: medianMs - baselineMs, ratio: medianMs / baselineMs }];
  });
  return Object.fromEntries(measurements) as Record<Name, Measurement>;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
