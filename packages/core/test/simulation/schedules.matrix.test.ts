import { test } from "vitest";
import { expectInvariantsToHold } from "./schedules.ts";

test("every invariant holds in the next 1,000 schedules", { timeout: 600_000 }, async () => {
  await expectInvariantsToHold(301, 1_000);
});
