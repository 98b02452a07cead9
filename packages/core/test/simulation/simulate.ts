// npm run lab -- simulate --schedules 100000 [--seed 42] [--workers 2]
//
// Runs seeded schedules of the simulation on all cores and says what they went through. The seed
// is random unless it is given; schedule n of a run is the first of the run with that seed + n.
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { addCounts, describeFailure, runSchedules, type SchedulesResult } from "./run-schedules.ts";

interface Share {
  readonly seed: number;
  readonly schedules: number;
}

const schedulesPerShare = 500;

if (process.send) {
  process.on("message", ({ seed, schedules }: Share) => {
    void runSchedules(seed, schedules).then((result) => process.send?.(result));
  });
} else {
  process.exitCode = await simulate();
}

async function simulate(): Promise<number> {
  const { values } = parseArgs({
    args: process.argv.slice(2).filter((argument) => argument !== "--"),
    options: {
      schedules: { type: "string", default: "10000" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
      workers: { type: "string", default: String(availableParallelism()) },
    },
  });
  const seed = wholeNumber(values.seed, "seed", 0);
  const schedules = wholeNumber(values.schedules, "schedules", 1);
  const workers = wholeNumber(values.workers, "workers", 1);
  console.log(`seed ${seed}, ${schedules} schedules, ${workers} workers`);

  const shares = sharesOf(seed, schedules);
  const total: { schedules: number; counts: Record<string, number> } = { schedules: 0, counts: {} };
  const startedAt = performance.now();
  let saidAt = startedAt;
  let failure: SchedulesResult["failure"];
  const take = (result: SchedulesResult) => {
    total.schedules += result.schedules;
    addCounts(total.counts, result.counts);
    // Of several workers' failures the one that comes first in the run.
    if (result.failure && result.failure.seed < (failure?.seed ?? Infinity))
      failure = result.failure;
    if (failure) shares.length = 0;
    if (performance.now() - saidAt < 10_000) return;
    saidAt = performance.now();
    console.log(
      `${total.schedules} schedules, ${perSecond(total.schedules, startedAt)} per second`,
    );
  };
  const work = async () => {
    const child = fork(fileURLToPath(import.meta.url));
    try {
      for (let share = shares.shift(); share !== undefined; share = shares.shift()) {
        take(await runShare(child, share));
      }
    } finally {
      child.kill();
    }
  };
  await Promise.all(Array.from({ length: workers }, work));

  for (const [name, count] of Object.entries(total.counts).toSorted(([a], [b]) =>
    a.localeCompare(b),
  )) {
    console.log(`${String(count).padStart(10)}  ${name}`);
  }
  console.log(
    `seed ${seed}: ${total.schedules} schedules, ${perSecond(total.schedules, startedAt)} per second, ${failure ? "one failed" : "every invariant held"}`,
  );
  if (failure) console.log(await describeFailure(failure));
  return failure ? 1 : 0;
}

function runShare(child: ReturnType<typeof fork>, share: Share): Promise<SchedulesResult> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`A worker ended with ${code}.`));
    child.once("exit", onExit);
    child.once("message", (result: SchedulesResult) => {
      child.off("exit", onExit);
      resolve(result);
    });
    child.send(share);
  });
}

function sharesOf(seed: number, schedules: number): Share[] {
  return Array.from({ length: Math.ceil(schedules / schedulesPerShare) }, (_, index) => ({
    seed: seed + index * schedulesPerShare,
    schedules: Math.min(schedulesPerShare, schedules - index * schedulesPerShare),
  }));
}

function perSecond(count: number, since: number): number {
  return Math.round((1_000 * count) / (performance.now() - since));
}

function wholeNumber(text: string, name: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} must be a whole number from ${least} on.`);
}
