import { expect, test } from "vitest";
import { startDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);

test("says so when there is no Chromium", async () => {
  const { stderr, exitCode } = await startDemo(demo, [], { CHROMIUM_PATH: "/nowhere/chromium" });
  expect(stderr).toContain("needs a Chromium or Chrome, and there is none at /nowhere/chromium");
  expect(exitCode).toBe(1);
});
