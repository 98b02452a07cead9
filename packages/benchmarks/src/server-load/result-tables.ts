import { cpus, loadavg } from "node:os";
import type { MeasuredCalls } from "./measure-calls.ts";
import type { OperationFigures } from "./measure-operations.ts";
import type { SessionFigures } from "./measure-sessions.ts";
import {
  type IdleFigures,
  idleStreams,
  progress as progressOfCall,
  type ProgressFigures,
} from "./measure-streams.ts";
import type { BenchTable } from "../report/part.ts";
import { base, serverKinds, type ServerName } from "./server-kinds.ts";
import type { Spread } from "./statistics.ts";
import type { TargetRow } from "./targets.ts";
import type { WarmUp } from "./warm-up.ts";

const none = "–";

export function machineTable(command: string): BenchTable {
  const all = cpus();
  return {
    title: "The run",
    columns: ["", ""],
    rows: [
      ["command", `\`${command}\``],
      ["date", new Date().toISOString().slice(0, 10)],
      ["CPU", `${all[0]?.model.trim()}, ${all.length} cores`],
      ["Node", `${process.versions.node}, ${process.platform} ${process.arch}`],
      ["load average before", loadavg()[0]!.toFixed(1)],
    ],
  };
}

/** The processes that were not warm when they were measured. */
export function notFlatTable(title: string, warmUps: readonly WarmUp[]): BenchTable {
  const notFlat = warmUps.filter(({ isFlat }) => !isFlat);
  return {
    title: `${title}: ${notFlat.length} of ${warmUps.length} not flat`,
    columns: ["server", "tool", "callers", "calls", "CPU µs, first window", "last window"],
    rows: notFlat.map((one) => [
      titleOf(one.server),
      `\`${one.tool}\``,
      one.callers,
      one.calls,
      one.coldMicroseconds.toFixed(0),
      one.warmMicroseconds.toFixed(0),
    ]),
  };
}

/** The calls of one format and one tool. */
export function callsTable(title: string, calls: readonly MeasuredCalls[]): BenchTable {
  return {
    title,
    columns: [
      ...["callers", "server", "calls/s", "÷ SDK", "CPU µs", "÷ SDK"],
      ...["p50 ms", "p99 ms", "bytes"],
    ],
    rows: calls.map((one) => [
      String(one.callers),
      titleOf(one.server),
      one.callsPerSecond.toFixed(0),
      one.server === base ? "1" : spread(one.callsPerSecondRatio),
      one.cpuMicroseconds.toFixed(0),
      one.server === base ? "1" : spread(one.cpuRatio),
      one.p50Ms.toFixed(2),
      one.p99Ms.toFixed(2),
      one.bytes.toFixed(0),
    ]),
  };
}

export function operationsTable(operations: readonly OperationFigures[]): BenchTable {
  return {
    title: "Store operations and HTTP requests of a call",
    columns: ["store", "answers", "tool", "reads", "writes", "by name", "HTTP requests"],
    rows: operations.map((one) => [
      titleOf(one.server),
      one.format,
      `\`${one.tool}\``,
      one.reads.toFixed(2),
      one.writes.toFixed(2),
      byName(one, 2),
      one.requests.toFixed(2),
    ]),
  };
}

export function progressTable(figures: readonly ProgressFigures[]): BenchTable {
  const { messages, characters } = progressOfCall;
  const ofBase = figures.find(({ server }) => server === base);
  return {
    title: `One call with ${messages} progress messages of ${characters} characters`,
    columns: ["server", "ms", "÷ SDK", "CPU ms", "÷ SDK", "reads", "writes", "by name"],
    rows: figures.map((one) => [
      titleOf(one.server),
      one.milliseconds.toFixed(0),
      ofBase ? (one.milliseconds / ofBase.milliseconds).toFixed(1) : none,
      one.cpuMilliseconds.toFixed(0),
      ofBase ? (one.cpuMilliseconds / ofBase.cpuMilliseconds).toFixed(1) : none,
      one.reads.toFixed(0),
      one.writes.toFixed(0),
      byName(one, 0),
    ]),
  };
}

export function idleTable(figures: readonly IdleFigures[]): BenchTable {
  return {
    title: `${idleStreams} listening streams on which nothing happens, in one second`,
    columns: ["server", "reads", "writes", "by name", "CPU, % of a core"],
    rows: figures.map((one) => [
      titleOf(one.server),
      one.reads.toFixed(1),
      one.writes.toFixed(1),
      byName(one, 1),
      (one.cpuShare * 100).toFixed(1),
    ]),
  };
}

export function sessionsTable(figures: readonly SessionFigures[], sessions: number): BenchTable {
  return {
    title: `${sessions.toLocaleString("en")} live sessions`,
    columns: ["server", "KiB of heap for each", "MiB of the process", "started per second"],
    rows: figures.map((one) => [
      titleOf(one.server),
      (one.heapBytes / 2 ** 10).toFixed(1),
      (one.residentBytes / 2 ** 20).toFixed(0),
      one.startedPerSecond.toFixed(0),
    ]),
  };
}

export function targetsTable(targets: readonly TargetRow[]): BenchTable {
  return {
    title: "Targets, beside the worst figure of the run",
    columns: ["", "target", "measured", ""],
    rows: targets.map((one) => [one.title, one.limit, one.worst, one.isMet ? "met" : "not met"]),
  };
}

function titleOf(server: ServerName): string {
  return serverKinds[server].title;
}

function spread({ median, low, high }: Spread): string {
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}

function byName({ operations }: Pick<OperationFigures, "operations">, digits: number): string {
  const texts = Object.entries(operations).map(
    ([name, count]) => `${name} ${count.toFixed(digits)}`,
  );
  return texts.join(", ") || none;
}
