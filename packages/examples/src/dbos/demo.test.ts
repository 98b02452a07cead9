import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { postgresUnavailable } from "../../../stores/test/postgres-server.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: ${postgresUnavailable}`);

const uuid = /[\da-f]{8}-[\da-f]{4}-/i;

test.skipIf(postgresUnavailable)(
  "keeps one session in a DBOS workflow that is killed twice in the middle of a call",
  async () => {
    const { stdout, exitCode } = await runDemo("--json");
    expect(exitCode).toBe(0);
    const lines = stdout.trim().split("\n").map(parseLine);
    const result = lines.pop();
    expect(result).toEqual({
      processes: 4,
      initialize: 1,
      // The bread once, the list twice.
      calls: { add_item: 3, list_items: 2, remove_item: 1 },
      searchedRows: expect.any(Number) as unknown,
      sessionIdFoundIn: [],
      sealedStateFoundIn: expect.arrayContaining(["dbos.operation_outputs"]) as unknown,
      answers: ["The cart holds apples, bread, milk.", "The cart holds apples, milk."],
    });

    const shown = lines.flatMap(({ pid, step, outcome, killedIn, logged }) => {
      if (killedIn !== undefined) return [[pid, `killed in ${killedIn} after ${logged} steps`]];
      return step === undefined ? [] : [[pid, `${step}: ${outcome}`]];
    });
    const [first, second, third, fourth] = new Set(lines.map(({ pid }) => pid));
    expect(shown).toEqual([
      [first, "open: 3 tools"],
      [first, "model: add_item(apples)"],
      [first, "add_item(apples): The cart holds apples."],
      [first, "model: add_item(bread)"],
      [first, "killed in add_item(bread) after 6 steps"],
      [second, expect.stringMatching(/^add_item\(bread\): OUTCOME_UNKNOWN: /)],
      [second, "model: list_items()"],
      [second, "killed in list_items() after 8 steps"],
      [third, "list_items(): The cart holds apples, bread."],
      [third, "model: add_item(milk)"],
      [third, "add_item(milk): The cart holds apples, bread, milk."],
      [third, "model: The cart holds apples, bread, milk."],
      // The next run in the chat.
      [fourth, "open: 3 tools"],
      [fourth, "model: remove_item(bread)"],
      [fourth, "remove_item(bread): The cart holds apples, milk."],
      [fourth, "model: The cart holds apples, milk."],
    ]);
    const events = lines.flatMap(({ pid, event }) => (event === undefined ? [] : [[pid, event]]));
    expect(events.filter(([, event]) => event === "started")).toEqual([[first, "started"]]);
    expect(events.filter(([, event]) => event !== "started" && event !== "resumed")).toEqual([]);
    expect(stdout).not.toMatch(uuid);
  },
);

test.skipIf(postgresUnavailable)(
  "shows people lines of less than 100 columns, without session ids",
  async () => {
    const { stdout, exitCode } = await runDemo();
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ +\d+ {2}add_item\(bread\) +OUTCOME_UNKNOWN: /m);
    expect(stdout).toMatch(/^4 processes, 1 initialize\./m);
    expect(stdout).not.toMatch(uuid);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(100);
  },
);

interface Line {
  pid: number;
  step?: string;
  outcome?: string;
  killedIn?: string;
  logged?: number;
  event?: string;
}

function parseLine(line: string): Line {
  return JSON.parse(line) as Line;
}

async function runDemo(...args: string[]): Promise<{ stdout: string; exitCode: number | null }> {
  const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
  const flags = ["--conditions=@durable-mcp/source", "--disable-warning=DeprecationWarning"];
  const child = spawn(process.execPath, [...flags, demo, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { stdout, exitCode: exitCode as number | null };
}
