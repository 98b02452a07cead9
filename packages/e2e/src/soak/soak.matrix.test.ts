import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("./soak.ts", import.meta.url));

function soak(...options: string[]) {
  const strip = process.features.typescript ? [] : ["--experimental-strip-types"];
  const flags = ["--expose-gc", "--conditions=@durable-mcp/source"];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...strip, ...flags, program, ...options],
    { encoding: "utf8", env: { ...process.env, NODE_NO_WARNINGS: "1" }, timeout: 110_000 },
  );
  return { status, stdout, stderr };
}

test("80 runs in one process leave nothing behind", () => {
  const { status, stdout, stderr } = soak("--runs", "80", "--samples", "2");
  expect(stderr).toBe("");
  expect(stdout).toContain("Nothing grows.");
  expect(stdout).toMatch(/80 runs: 20 with the pool, \d+ failed and \d+ aborted on purpose/);
  expect(status).toBe(0);
});

// Processes are counted in /proc; the other leaks that the program can make are tried by hand.
test.skipIf(process.platform !== "linux")("a leak on purpose is found", () => {
  const { status, stderr } = soak("--runs", "60", "--samples", "2", "--leak", "process");
  expect(stderr).toContain("processes: ");
  expect(stderr).toContain("file descriptors: ");
  expect(status).toBe(1);
});
