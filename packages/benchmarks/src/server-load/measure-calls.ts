import { type CallFigures, runRounds, warmUp } from "./rounds.ts";
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
  readonly formats: readonly AnswerFormat[];
  readonly callers: readonly number[];
  readonly rounds: number;
  /** Of each turn of a server. */
  readonly seconds: number;
  /** Of each server, before its rounds. */
  readonly warmUpSeconds: number;
  readonly places: StorePlaces;
  readonly profileFolder: string | undefined;
}

/** `count` writes to the state of the session: measured with so many callers, and the first format. */
const callersThatCount = 16;

export async function measureCalls(options: CallsToMeasure): Promise<MeasuredCalls[]> {
  const { formats, rounds, seconds, warmUpSeconds, places, profileFolder } = options;
  const names = [base, ...options.names.filter((name) => name !== base)];
  const most = Math.max(...options.callers, callersThatCount);
  const measured: MeasuredCalls[] = [];
  for (const format of formats) {
    const run = { names, format, callers: most, places, profileFolder };
    await withServers(run, async ([baseServer, ...others]) => {
      const all = [baseServer!, ...others];
      await warmUp(all, { tool: "greet", callers: callersThatCount, seconds: warmUpSeconds });
      const series = options.callers.map((callers) => ({ tool: "greet", callers, seconds }));
      if (format === formats[0]) series.push({ tool: "count", callers: callersThatCount, seconds });
      for (const calls of series) {
        const figures = await runRounds(baseServer!, others, calls, rounds);
        for (const [{ name }, one] of figures) {
          measured.push({ server: name, format, callers: calls.callers, tool: calls.tool, ...one });
        }
      }
    });
  }
  return measured;
}
