import { type HeapProfiler, Session } from "node:inspector/promises";
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
