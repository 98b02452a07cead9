import { type CallFigures, type Calls, figuresOf, runRounds, type Turn, warmUp } from "./rounds.ts";
import { type AnswerFormat, withServers } from "./running-servers.ts";
import { base, type ServerName } from "./server-kinds.ts";
import type { StorePlaces } from "./store-places.ts";

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
  /** How often each server is called before the rounds. */
  readonly warmUpCalls: number;
  readonly places: StorePlaces;
}

export async function measureCalls(options: CallsToMeasure): Promise<MeasuredCalls[]> {
  const { format, series, rounds, processes, warmUpCalls, places } = options;
  const names = [base, ...options.names.filter((name) => name !== base)];
  const callers = Math.max(...series.map((calls) => calls.callers));
  const measured = series.flatMap((calls) =>
    names.map((server) => ({ calls, server, turns: [] as Turn[] })),
  );
  for (let process = 0; process < processes; process++) {
    await withServers({ names, format, callers, places }, async (servers) => {
      await warmUp(servers, warmUpCalls);
      for (const calls of series) {
        const ofSeries = measured.filter((one) => one.calls === calls);
        const taken = await runRounds(servers, calls, rounds);
        for (const [n, { turns }] of ofSeries.entries()) turns.push(...taken[n]!);
      }
    });
  }
  return measured.map(({ calls, server, turns }) => ({
    ...{ server, format, callers: calls.callers, tool: calls.tool },
    ...figuresOf(turns),
  }));
}
