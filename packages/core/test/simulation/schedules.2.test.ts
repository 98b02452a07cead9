import { test } from "vitest";
import { expectInvariantsToHold } from "./schedules.ts";

// In a file of their own, so that they run beside the others.
test("every invariant holds in the second 2,000 schedules", { timeout: 600_000 }, async () => {
  await expectInvariantsToHold(2_001, 2_000);
});
