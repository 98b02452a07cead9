/**
 * Times several ways to do the same thing, in milliseconds by name: one of each in a round, in an order that changes from
 * round to round, so that whatever else the machine does meets all of them alike. A quarter as many rounds come before.
 */
export async function timeInTurns<Name extends string>(
  candidates: Readonly<Record<Name, () => Promise<unknown>>>,
  rounds: number,
): Promise<Record<Name, number[]>> {
  const all = Object.entries<() => Promise<unknown>>(candidates).map(([name, run]) => ({
    name,
    run,
    times: [] as number[],
  }));
  const warmUpRounds = Math.ceil(rounds / 4);
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const first = (round + warmUpRounds) % all.length;
    for (const { run, times } of [...all.slice(first), ...all.slice(0, first)]) {
      const start = performance.now();
      await run();
      if (round >= 0) times.push(performance.now() - start);
    }
  }
  return Object.fromEntries(all.map(({ name, times }) => [name, times])) as Record<Name, number[]>;
}
