import { type CallFigures, type Calls, figuresOf, runRounds, type Turn } from "./rounds.ts";
import { type AnswerFormat, withServers } from "./running-servers.ts";
import { base, serverKinds, type ServerName } from "./server-kinds.ts";
import type { StorePlaces } from "./store-places.ts";
import { type WarmUp, warmUp, type WarmUpBounds } from "./warm-up.ts";

/** Of one server, beside the base with the same format, callers and tool. */
export interface MeasuredCalls extends CallFigures {
  readonly server: ServerName;
  readonly format: AnswerFormat;
  readonly callers: number;
  readonly tool: string;
}

export interface CallsToMeasure {
  readonly names: readonly ServerName[];
  readonly format: AnswerFormat;
  /** One after the other. */
  readonly series: readonly Calls[];
  /** How often each server is started: one process may be slower than another of the same program throughout its life. */
  readonly processes: number;
  /** With each process. */
  readonly rounds: number;
  readonly warmUp: WarmUpBounds;
  readonly places: StorePlaces;
}

export async function measureCalls(
  options: CallsToMeasure,
): Promise<{ calls: MeasuredCalls[]; warmUps: WarmUp[] }> {
  const { format, series, rounds, processes, places } = options;
  const warmUps: WarmUp[] = [];
  const names = [base, ...options.names.filter((name) => name !== base)];
  const callers = Math.max(...series.map((calls) => calls.callers));
  const measured = series.flatMap((calls) =>
    names
      .filter((server) => calls.tool === "greet" || serverKinds[server].needs === undefined)
      .map((server) => ({ calls, server, turns: [] as Turn[] })),
  );
  for (let process = 0; process < processes; process++) {
    await withServers({ names, format, callers, places }, async (servers) => {
      for (const [place, calls] of series.entries()) {
        const ofSeries = measured.filter((one) => one.calls === calls);
        const called = servers.filter(({ name }) => ofSeries.some((one) => one.server === name));
        const fewest = place === 0 ? options.warmUp.fewest : 2;
        for (const server of called) {
          warmUps.push(await warmUp(server, calls, { ...options.warmUp, fewest }));
        }
        const taken = await runRounds(called, calls, rounds);
        for (const [n, { turns }] of ofSeries.entries()) turns.push(...taken[n]!);
      }
    });
  }
  const calls = measured.map(({ calls: { callers: count, tool }, server, turns }) => ({
    ...{ server, format, callers: count, tool },
    ...figuresOf(turns),
  }));
  return { calls, warmUps };
}
