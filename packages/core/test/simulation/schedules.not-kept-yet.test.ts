import { expect, test } from "vitest";
import { notKeptYet } from "./invariants.ts";
import { runSchedules } from "./run-schedules.ts";

// Kept once this test fails: then take the invariant out of the list.
test.fails.each([...notKeptYet])("%s holds too", { timeout: 240_000 }, async (invariant) => {
  const fails = (violation: { invariant: string }) => violation.invariant === invariant;
  expect((await runSchedules(1, 2_000, { fails })).failure).toBeUndefined();
});
