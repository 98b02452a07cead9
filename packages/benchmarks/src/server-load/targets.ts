import type { MeasuredCalls } from "./measure-calls.ts";
import type { OperationFigures } from "./measure-operations.ts";
import type { SessionFigures } from "./measure-sessions.ts";
import type { IdleFigures, ProgressFigures } from "./measure-streams.ts";
import { serverKinds, type ServerName } from "./server-kinds.ts";

/** All that a run has measured; a part that was not asked for is empty. */
export interface Measured {
  readonly calls: readonly MeasuredCalls[];
  readonly operations: readonly OperationFigures[];
  readonly progress: readonly ProgressFigures[];
  readonly idle: readonly IdleFigures[];
  readonly sessions: readonly SessionFigures[];
}

/** A goal, beside the worst of all figures that it holds for. */
export interface TargetRow {
  readonly title: string;
  readonly limit: string;
  readonly worst: string;
  readonly isMet: boolean;
}

interface Figure {
  readonly label: string;
  readonly value: number;
}

/** With SSE answers, by the number of callers. */
const cpuAtMost: Partial<Record<ServerName, Readonly<Record<number, number>>>> = {
  memory: { 16: 1.15, 1: 1.15 },
  "sqlite-full": { 16: 1.25, 1: 2.3 },
  "sqlite-normal": { 16: 1.15, 1: 1.5 },
  redis: { 16: 1.15, 1: 1.6 },
  "postgres-off": { 16: 1.6, 1: 3 },
};

/** With this many callers. */
const callersOfRates = 16;
const callsPerSecondAtLeast: Partial<Record<ServerName, number>> = {
  memory: 0.9,
  "sqlite-normal": 0.6,
  redis: 0.7,
  "postgres-off": 0.4,
};

/** Of a live session, in kilobytes of 1,000. */
const heapAtMost = 30;

/** Operations may be this many more: a replica renews its sign of life meanwhile. */
const ownPerCall = 0.02;
const ownPerSecond = 1;
/** The answer of the call, and such a sign. */
const ownPerReport = 2;

/** The goals of which something was measured. */
export function targetRows({ calls, operations, progress, idle, sessions }: Measured): TargetRow[] {
  const rows: (TargetRow | undefined)[] = [];
  const greetings = calls.filter(({ tool }) => tool === "greet");
  for (const [server, limits] of Object.entries(cpuAtMost)) {
    for (const [callers, limit] of Object.entries(limits)) {
      const figures = greetings
        .filter((one) => one.server === server && one.format === "sse")
        .filter((one) => one.callers === Number(callers))
        .map((one) => ({ label: labelOf(one), value: one.cpuRatio.median }));
      rows.push(atMost(`CPU per call ÷ SDK: ${titleOf(server)}`, limit, figures));
    }
  }
  for (const [server, limit] of Object.entries(callsPerSecondAtLeast)) {
    const figures = greetings
      .filter((one) => one.server === server && one.callers === callersOfRates)
      .map((one) => ({ label: labelOf(one), value: one.callsPerSecondRatio.median }));
    rows.push(atLeast(`calls/s ÷ SDK: ${titleOf(server)}`, limit, figures));
  }
  for (const kind of ["reads", "writes"] as const) {
    for (const [tool, what] of [
      ["greet", "a call"],
      ["count", "a call that changes the state"],
    ]) {
      const figures = operations
        .filter((one) => one.tool === tool)
        .map((one) => ({ label: `${one.server}, ${one.format}`, value: one[kind] }));
      rows.push(atMost(`${kind} for ${what}`, 1, figures, ownPerCall));
    }
  }
  const readsOfIdle = idle
    .filter(hasStore)
    .map(({ server, reads }) => ({ label: server, value: reads }));
  rows.push(atMost("reads per second for idle streams", 0, readsOfIdle, ownPerSecond));
  const writesOfReport = progress
    .filter(hasStore)
    .map(({ server, writes }) => ({ label: server, value: writes }));
  rows.push(atMost("writes for 1,000 progress messages", 1_000, writesOfReport, ownPerReport));
  const heap = sessions
    .filter(({ server }) => server === "memory")
    .map(({ server, heapBytes }) => ({ label: server, value: heapBytes / 1_000 }));
  rows.push(atMost("kB of heap for a live session", heapAtMost, heap));
  return rows.filter((row) => row !== undefined);
}

function atMost(
  title: string,
  limit: number,
  figures: readonly Figure[],
  tolerance = 0,
): TargetRow | undefined {
  const worst = figures.toSorted((a, b) => b.value - a.value)[0];
  return worst && rowOf(title, `≤ ${limit}`, worst, worst.value <= limit + tolerance);
}

function atLeast(title: string, limit: number, figures: readonly Figure[]): TargetRow | undefined {
  const worst = figures.toSorted((a, b) => a.value - b.value)[0];
  return worst && rowOf(title, `≥ ${limit}`, worst, worst.value >= limit);
}

function rowOf(title: string, limit: string, { label, value }: Figure, isMet: boolean): TargetRow {
  return { title, limit, worst: `${value.toFixed(2)} (${label})`, isMet };
}

function labelOf({ format, callers }: MeasuredCalls): string {
  return `${format}, ${callers} ${callers === 1 ? "caller" : "callers"}`;
}

function hasStore({ server }: { readonly server: ServerName }): boolean {
  return !serverKinds[server].isSdk;
}

function titleOf(server: string): string {
  return serverKinds[server as ServerName].title;
}
