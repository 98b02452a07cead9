import type { RunningServer } from "./running-servers.ts";
import { median, quantile, type Spread, spreadOf, sum } from "./statistics.ts";

/** What is called, and for how long at a time. */
export interface Calls {
  readonly tool: string;
  /** How many callers call at once, each one call after another. */
  readonly callers: number;
  readonly seconds: number;
}

/** Medians over the rounds. Ratios are to the base, before and after in the same round. */
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

interface Turn {
  readonly callsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly bytes: number;
  readonly latenciesMs: readonly number[];
}

/**
 * Measures the servers in turn, round after round, and the base between any two: other load on the machine comes and
 * goes, and then hits both.
 */
export async function runRounds(
  baseServer: RunningServer,
  others: readonly RunningServer[],
  calls: Calls,
  rounds: number,
): Promise<ReadonlyMap<RunningServer, CallFigures>> {
  const baseTurns: Turn[] = [];
  const turns = new Map<RunningServer, { turn: Turn; before: Turn; after: Turn }[]>();
  for (const server of others) turns.set(server, []);
  for (let round = 0; round < rounds; round++) {
    let before = await takeTurn(baseServer, calls);
    baseTurns.push(before);
    for (const server of others) {
      const turn = await takeTurn(server, calls);
      const after = await takeTurn(baseServer, calls);
      turns.get(server)!.push({ turn, before, after });
      baseTurns.push((before = after));
    }
  }
  const itself = baseTurns.map((turn) => ({ turn, before: turn, after: turn }));
  const all = [[baseServer, itself] as const, ...turns];
  return new Map(all.map(([server, taken]) => [server, figuresOf(taken)]));
}

/** Calls without measuring, until compilers and caches are warm. */
export async function warmUp(servers: readonly RunningServer[], calls: Calls): Promise<void> {
  for (const server of servers) await takeTurn(server, calls);
}

async function takeTurn(server: RunningServer, calls: Calls): Promise<Turn> {
  const { tool, callers, seconds } = calls;
  const latenciesMs: number[] = [];
  let bytes = 0;
  const before = await server.figures();
  const start = performance.now();
  const end = start + seconds * 1_000;
  const callOneAfterAnother = async (caller: RunningServer["callers"][number]) => {
    for (let from = performance.now(); from < end;) {
      const answer = await caller.call(tool);
      const now = performance.now();
      bytes += answer.bytes;
      latenciesMs.push(now - from);
      from = now;
    }
  };
  await Promise.all(server.callers.slice(0, callers).map(callOneAfterAnother));
  const elapsed = performance.now() - start;
  const after = await server.figures();
  const made = latenciesMs.length;
  return {
    callsPerSecond: made / (elapsed / 1_000),
    cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / made,
    bytes: bytes / made,
    latenciesMs,
  };
}

function figuresOf(taken: readonly { turn: Turn; before: Turn; after: Turn }[]): CallFigures {
  const turns = taken.map(({ turn }) => turn);
  const latencies = turns.flatMap(({ latenciesMs }) => latenciesMs);
  const ratio = (of: (turn: Turn) => number) =>
    spreadOf(taken.map(({ turn, before, after }) => of(turn) / Math.sqrt(of(before) * of(after))));
  return {
    callsPerSecond: median(turns.map((turn) => turn.callsPerSecond)),
    callsPerSecondRatio: ratio((turn) => turn.callsPerSecond),
    cpuMicroseconds: median(turns.map((turn) => turn.cpuMicroseconds)),
    cpuRatio: ratio((turn) => turn.cpuMicroseconds),
    p50Ms: median(latencies),
    p99Ms: quantile(latencies, 0.99),
    bytes: sum(turns.map((turn) => turn.bytes)) / turns.length,
  };
}
