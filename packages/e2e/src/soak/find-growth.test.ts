import { describe, expect, test } from "vitest";
import { findGrowth } from "./find-growth.ts";
import type { Sample } from "./measure-process.ts";

const sample = (runs: number, heap: number, more: Partial<Sample> = {}): Sample => ({
  runs,
  heap,
  resources: { PipeWrap: 4 },
  descriptors: 28,
  processes: 2,
  ...more,
});

describe("growth", () => {
  const small = 30_000_000;
  const large = 40_000_000;

  test("is not a heap that becomes small again", () => {
    expect(findGrowth([sample(1, small), sample(2, large), sample(3, small)])).toEqual([]);
  });

  test("is a heap that does not", () => {
    const found = findGrowth([sample(1, small), sample(2, large), sample(3, large)]);
    expect(found).toEqual(["heap: 30.0 MB before, 40.0 MB after 3 runs"]);
  });

  test("is one more of anything else", () => {
    const last = sample(2, small, {
      resources: { PipeWrap: 4, Timeout: 1 },
      descriptors: 29,
      processes: 3,
    });
    expect(findGrowth([sample(1, small), last])).toEqual([
      "Timeout: 0 before, 1 after 2 runs",
      "file descriptors: 28 before, 29 after 2 runs",
      "processes: 2 before, 3 after 2 runs",
    ]);
  });
});
