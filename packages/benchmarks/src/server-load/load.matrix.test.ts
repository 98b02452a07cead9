import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("./program.ts", import.meta.url));

test("measures a server on this package beside the SDK's own transport", () => {
  const options = {
    ...{ parts: "calls,operations", servers: "sdk,memory", formats: "sse", callers: "2" },
    ...{ processes: "1", rounds: "1", seconds: "0.1", "warm-up": "20", windows: "1" },
  };
  const printed = execFileSync(
    process.execPath,
    [
      ...["--conditions=@durable-mcp/source", program, "--markdown"],
      ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    ],
    { encoding: "utf8" },
  );
  const cellsOf = (...names: string[]) =>
    printed
      .split("\n")
      .map((line) => line.split("|").map((cell) => cell.trim()))
      .find((cells) => names.every((name, n) => cells[n + 1] === name))!;

  const [, , , callsPerSecond, ratio, cpu, cpuRatio] = cellsOf("2", "memory");
  for (const figure of [callsPerSecond, ratio, cpu, cpuRatio]) {
    expect(Number.parseFloat(figure!)).toBeGreaterThan(0);
  }
  const [, , , , reads, writes, , requests] = cellsOf("memory", "sse", "`greet`");
  expect(Number(reads)).toBeGreaterThanOrEqual(1);
  expect(Number(writes)).toBeGreaterThanOrEqual(1);
  expect(Number(requests)).toBe(1);
});
