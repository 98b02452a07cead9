/**
 * `npm run lab -- soak --runs 10000`: many runs in one process, on real servers, and what the process holds
 * on to meanwhile: heap, sockets, timers, file descriptors, child processes. Exits with 1 when
 * something grows. `--leak run`, `timer` or `process` makes a mistake on purpose, to see that.
 */
import { parseArgs } from "node:util";
import { startNotebookServer } from "../servers/notebook.ts";
import { startSdkV2StatelessServer } from "../servers/sdk-v2.ts";
import { findGrowth, megabytes } from "./find-growth.ts";
import { measureProcess, type Sample } from "./measure-process.ts";
import { createSoakRuns, type Leak, leaks } from "./soak-runs.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "10000" },
    "at-once": { type: "string", default: "4" },
    samples: { type: "string", default: "11" },
    leak: { type: "string" },
  },
});
const [runs, atOnce, sampleCount] = [values.runs, values["at-once"], values.samples].map(
  Number,
) as [number, number, number];
const isLeak = (text: string | undefined): text is Leak | undefined =>
  text === undefined || (leaks as readonly string[]).includes(text);
if (!isLeak(values.leak)) throw new RangeError(`--leak is one of ${leaks.join(", ")}.`);

const notebook = await startNotebookServer();
const stateless = await startSdkV2StatelessServer();
const soak = createSoakRuns({ notebook: notebook.url, stateless: stateless.url }, values.leak);
const samples: Sample[] = [];
let begun = 0;

console.log("  runs      heap  descriptors  processes  sessions  resources");
try {
  // What is made once, and code that is compiled, is there before the first sample.
  const warmUp = Math.max(40, Math.floor(runs / 10));
  for (let sample = 0; sample < sampleCount; sample += 1) {
    const until = Math.round(warmUp + ((runs - warmUp) * sample) / (sampleCount - 1));
    await Promise.all(Array.from({ length: atOnce }, () => runUntil(until)));
    await takeSample();
  }
} finally {
  // What was not let go on purpose is not to be let go here.
  if (values.leak === undefined) await soak.shutdown();
}
const sessionsLeft = (await notebook.stats()).sessions;
await Promise.all([notebook.stop(), stateless.stop()]);

const { counts, unexpected } = soak;
console.log(
  `\n${counts.runs} runs: ${counts.pooled} with the pool, ${counts.failed} failed and ${counts.aborted} aborted on purpose; ` +
    `${counts.nested} sub-agents, ${counts.stdio} stdio servers, ${counts.calls} calls.`,
);
const faults = [
  ...findGrowth(samples),
  ...unexpected,
  // Of each agent session the two that last, `cart` and `browser`.
  ...(sessionsLeft > 40 ? [`sessions on the server: ${sessionsLeft} left, 40 last`] : []),
];
if (faults.length === 0) console.log("Nothing grows.");
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
// What a leak on purpose has left would keep the process.
if (values.leak !== undefined) process.exit();

async function runUntil(until: number): Promise<void> {
  while (begun < until) {
    const index = begun;
    begun += 1;
    await soak.run(index);
  }
}

async function takeSample(): Promise<void> {
  const sample = await measureProcess(begun);
  const { sessions } = await notebook.stats();
  samples.push(sample);
  console.log(
    [
      String(sample.runs).padStart(6),
      megabytes(sample.heap).padStart(9),
      String(sample.descriptors ?? "?").padStart(12),
      String(sample.processes ?? "?").padStart(10),
      String(sessions).padStart(9),
      ` ${JSON.stringify(sample.resources)}`,
    ].join(" "),
  );
}
