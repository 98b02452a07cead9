import type { Sample } from "./measure-process.ts";

/** What a heap may be larger at the end than it was: caches, compiled code. In bytes. */
const heapAllowance = 3_000_000;

/** What has grown between the first sample and the others, as sentences; none if nothing has. */
export function findGrowth(samples: readonly Sample[]): string[] {
  const [first, ...later] = samples;
  const last = later.at(-1);
  if (first === undefined || last === undefined) throw new RangeError("Growth needs two samples.");
  const growth: string[] = [];
  const more = (what: string, before = 0, after = 0) => {
    if (after > before) growth.push(`${what}: ${before} before, ${after} after ${last.runs} runs`);
  };
  // One large sample is noise; one that never comes down again is growth.
  const lowest = Math.min(...later.slice(-2).map(({ heap }) => heap));
  if (lowest > first.heap + heapAllowance) {
    growth.push(
      `heap: ${megabytes(first.heap)} before, ${megabytes(lowest)} after ${last.runs} runs`,
    );
  }
  const kinds = new Set([...Object.keys(first.resources), ...Object.keys(last.resources)]);
  for (const kind of kinds) more(kind, first.resources[kind], last.resources[kind]);
  more("file descriptors", first.descriptors, last.descriptors);
  more("processes", first.processes, last.processes);
  return growth;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
