import type { RunningServer } from "./running-servers.ts";
import type { SessionCaller } from "./session-caller.ts";
import { median, quantile, type Spread, spreadOf, sum } from "./statistics.ts";

/** What is called, and for how long at a time. */
export interface Calls {
  readonly tool: string;
  /** How many callers call at once, each one call after another. */
  readonly callers: number;
  readonly seconds: number;
}

/** Medians over the rounds. Ratios are to the base in the same round. */
export interface CallFigures {
  readonly callsPerSecond: number;
  readonly callsPerSecondRatio: Spread;
  /** Of the server's process. */
  readonly cpuMicroseconds: number;
  readonly cpuRatio: Spread;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of an answer, on the wire. */
  readonly bytes: number;
}

/** One server's part of a round. */
export interface Turn {
  readonly callsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly bytes: number;
  readonly latenciesMs: readonly number[];
  /** The turn of the base in this round. */
  readonly ofBase: Omit<Turn, "ofBase">;
}

/**
 * Measures the servers, the first of which is the base, in turn, in an order that changes from round to round: other load
 * on the machine comes and goes, and then hits all.
 *
 * @returns the turns of each server, in the order of `servers`
 */
export async function runRounds(
  servers: readonly RunningServer[],
  calls: Calls,
  rounds: number,
): Promise<Turn[][]> {
  const turns: Turn[][] = servers.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const taken: Omit<Turn, "ofBase">[] = [];
    const order = [...servers.keys()];
    if (round % 2 === 1) order.reverse();
    for (const n of order) taken[n] = await takeTurn(servers[n]!, calls);
    for (const [n, turn] of taken.entries()) turns[n]!.push({ ...turn, ofBase: taken[0]! });
  }
  return turns;
}

async function takeTurn(server: RunningServer, calls: Calls): Promise<Omit<Turn, "ofBase">> {
  // It has slept while others ran: its caches are theirs, and its heap was made small. The SDK's transport needs some
  // thousand calls to be as fast again.
  await callAll(server, calls, calls.seconds);
  const before = await server.figures();
  const start = performance.now();
  const { latenciesMs, bytes } = await callAll(server, calls, calls.seconds);
  const seconds = (performance.now() - start) / 1_000;
  const after = await server.figures();
  const made = latenciesMs.length;
  return {
    callsPerSecond: made / seconds,
    cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / made,
    bytes: bytes / made,
    latenciesMs,
  };
}

async function callAll(
  { callers }: RunningServer,
  { tool, callers: count }: Calls,
  seconds: number,
) {
  const latenciesMs: number[] = [];
  let bytes = 0;
  const end = performance.now() + seconds * 1_000;
  const callOneAfterAnother = async (caller: SessionCaller) => {
    for (let from = performance.now(); from < end;) {
      const answer = await caller.call(tool);
      const now = performance.now();
      bytes += answer.bytes;
      latenciesMs.push(now - from);
      from = now;
    }
  };
  await Promise.all(callers.slice(0, count).map(callOneAfterAnother));
  return { latenciesMs, bytes };
}

export function figuresOf(turns: readonly Turn[]): CallFigures {
  const latencies = turns.flatMap(({ latenciesMs }) => latenciesMs);
  const ratio = (figure: "callsPerSecond" | "cpuMicroseconds") =>
    spreadOf(turns.map((turn) => turn[figure] / turn.ofBase[figure]));
  return {
    callsPerSecond: median(turns.map((turn) => turn.callsPerSecond)),
    callsPerSecondRatio: ratio("callsPerSecond"),
    cpuMicroseconds: median(turns.map((turn) => turn.cpuMicroseconds)),
    cpuRatio: ratio("cpuMicroseconds"),
    p50Ms: median(latencies),
    p99Ms: quantile(latencies, 0.99),
    bytes: sum(turns.map((turn) => turn.bytes)) / turns.length,
  };
}
