import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import type { BenchPart, BenchRatio } from "./part.ts";

/** Where and when a part was measured. */
export interface BenchRun {
  readonly command: string;
  readonly date: string;
  readonly cpu: string;
  readonly node: string;
  /** The load average of the last minute, before the part began. */
  readonly loadBefore: number;
  readonly seconds: number;
}

export interface BenchResult {
  readonly part: BenchPart;
  readonly run: BenchRun;
}

/** The latest result of each part, from which the page is written. */
const file = new URL("../../results.json", import.meta.url);

export function describeRun(args: readonly string[]): Omit<BenchRun, "seconds"> {
  const all = cpus();
  return {
    command: ["npm run bench", ...(args.length === 0 ? [] : ["--", ...args])].join(" "),
    date: new Date().toISOString().slice(0, 10),
    cpu: `${all[0]?.model.trim()}, ${all.length} cores`,
    node: `${process.versions.node}, ${process.platform} ${process.arch}`,
    loadBefore: Number(loadavg()[0]!.toFixed(1)),
  };
}

export function loadResults(): Record<string, BenchResult> {
  return JSON.parse(readFileSync(file, "utf8"), revive) as Record<string, BenchResult>;
}

export function saveResults(results: Readonly<Record<string, BenchResult>>): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

/** JSON has no infinity: a bound that is not known is null. */
function revive(key: string, value: unknown): unknown {
  return (key as keyof BenchRatio) === "high" && value === null ? Number.POSITIVE_INFINITY : value;
}
