import { type HeapProfiler, type Profiler, Session } from "node:inspector/promises";
import type { Caller } from "./callers.ts";

/** Bytes between two samples of an allocation, on average. */
const samplingInterval = 2_048;

/** Kilobytes on the heap that one call allocates, those that are free again included. */
export async function allocationPerCall(call: Caller, calls: number): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.startSampling", {
    samplingInterval,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  for (let n = 0; n < calls; n += 1) await call();
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  return bytesOf(profile.head) / calls / 1_024;
}

function bytesOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((bytes, child) => bytes + bytesOf(child), selfSize);
}

/** Time that a function took itself, as a part of all time in which the process was busy. */
interface SelfTime {
  readonly place: string;
  readonly share: number;
}

/** Profiles `work`, and returns the functions that took the most time, the slowest first. */
export async function profileSelfTimes(work: () => Promise<void>) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 200 });
  await session.post("Profiler.start");
  await work();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return selfTimes(profile);
}

function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): SelfTime[] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map<string, number>();
  let busy = 0;
  for (const [at, id] of samples.entries()) {
    const { functionName, url } = frames.get(id)!;
    if (functionName === "(idle)") continue;
    const delta = timeDeltas[at] ?? 0;
    const place = `${functionName || "(anonymous)"} ${url.replace(/^.*\/(?:node_modules|packages)\//, "")}`;
    times.set(place, (times.get(place) ?? 0) + delta);
    busy += delta;
  }
  const sorted = [...times].toSorted(([, a], [, b]) => b - a);
  return sorted.map(([place, time]) => ({ place: place.trim(), share: time / busy }));
}
