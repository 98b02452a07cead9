import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** What a process holds on to. */
export interface Sample {
  /** After how many runs. */
  readonly runs: number;
  /** After garbage collection, in bytes. */
  readonly heap: number;
  /** What keeps the event loop going, by kind. */
  readonly resources: Readonly<Record<string, number>>;
  /** Open file descriptors; `undefined` where there is no `/proc`. */
  readonly descriptors: number | undefined;
  /** Processes below this one; `undefined` where there is no `/proc`. */
  readonly processes: number | undefined;
}

/**
 * For what holds memory a while after a run: time limits of handshakes and listings, 10 seconds, and
 * sockets that are kept for the next request, 4 seconds.
 */
const quietMs = 11_000;

/** Waits until nothing is under way any more, collects garbage, and counts. Needs `--expose-gc`. */
export async function measureProcess(runs: number): Promise<Sample> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("Run it with node --expose-gc.");
  await sleep(quietMs);
  // Finalizers run between the collections, and free more.
  for (let round = 0; round < 4; round += 1) {
    gc();
    await sleep(50);
  }
  const resources = countResources();
  return {
    runs,
    heap: process.memoryUsage().heapUsed,
    resources,
    descriptors: countDescriptors(),
    processes: countDescendants(),
  };
}

function countResources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function countDescriptors(): number | undefined {
  // Reading the folder opens one, too; always one.
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : undefined;
}

function countDescendants(): number | undefined {
  if (process.platform !== "linux") return undefined;
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const parent = parentOf(name);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (pid: number): number =>
    (children.get(pid) ?? []).reduce((count, child) => count + 1 + below(child), 0);
  return below(process.pid);
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}
