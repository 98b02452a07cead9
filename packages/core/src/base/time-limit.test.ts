import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { withTimeLimit } from "./time-limit.ts";

test("aborts with the caller's signal", () => {
  const controller = new AbortController();
  const signal = withTimeLimit(60_000, controller.signal);
  expect(signal.aborted).toBe(false);
  controller.abort("left");
  expect(signal).toMatchObject({ aborted: true, reason: "left" });
});

test("aborts after its time, also when nothing else holds it and memory is collected", async () => {
  const { href } = new URL("time-limit.ts", import.meta.url);
  const program = `
    import { withTimeLimit } from ${JSON.stringify(href)};
    const aborted = new Promise((resolve) => {
      withTimeLimit(200, undefined).addEventListener("abort", resolve);
    });
    gc();
    setTimeout(gc, 50);
    setTimeout(() => process.exit(1), 60_000);
    await aborted;
    console.log("aborted");
    process.exit(0);
  `;
  const flags = ["--expose-gc", "--experimental-strip-types", "--no-warnings"];
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    "--input-type=module",
    "--eval",
    program,
  ]);
  expect(stdout).toBe("aborted\n");
});
