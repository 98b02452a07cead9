import { expect, test } from "vitest";
import { createPlan } from "./plan.ts";
import { runPlan } from "./run-plan.ts";

test(
  "the same seed gives the same schedule, and another seed another",
  { timeout: 120_000 },
  async () => {
    const traces = new Set<string>();
    for (let seed = 1; seed <= 100; seed += 1) {
      const first = await runPlan(createPlan(seed));
      expect(await runPlan(createPlan(seed))).toEqual(first);
      traces.add(first.trace.join("\n"));
    }
    expect(traces.size).toBe(100);
  },
);
