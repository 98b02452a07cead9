import { test } from "vitest";
import { expectInvariantsToHold } from "./schedules.ts";

test("every invariant holds in the first 1,500 schedules", { timeout: 600_000 }, async () => {
  await expectInvariantsToHold(1, 1_500);
});
