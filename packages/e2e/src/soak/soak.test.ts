import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findGrowth } from "./find-growth.ts";
import type { Sample } from "./measure-process.ts";

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

test("200 runs in one process leave nothing behind", () => {
  const { status, stdout, stderr } = soak("--runs", "200", "--samples", "2");
  expect(stderr).toBe("");
  expect(stdout).toContain("Nothing grows.");
  expect(stdout).toMatch(/200 runs: 50 with the pool, \d+ failed and \d+ aborted on purpose/);
  expect(status).toBe(0);
});

// Processes are counted in /proc; the other leaks that the program can make are tried by hand.
test.skipIf(process.platform !== "linux")("a leak on purpose is found", () => {
  const { status, stderr } = soak("--runs", "60", "--samples", "2", "--leak", "process");
  expect(stderr).toContain("processes: ");
  expect(stderr).toContain("file descriptors: ");
  expect(status).toBe(1);
});

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
