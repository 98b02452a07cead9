import { expect, test } from "vitest";
import { postgresUnavailable } from "../../../stores/test/postgres-server.ts";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: ${postgresUnavailable}`);

const demo = new URL("demo.ts", import.meta.url);

test.skipIf(postgresUnavailable)(
  "keeps one session in a DBOS workflow that is killed twice in the middle of a call",
  async () => {
    const lines = jsonLines<Line>(await runDemo(demo, ["--json"]));
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
  },
);

test.skipIf(postgresUnavailable)(
  "shows people lines of less than 100 columns, without session ids",
  async () => {
    const stdout = await runDemo(demo);
    expect(stdout).toMatch(/^ +\d+ {2}add_item\(bread\) +OUTCOME_UNKNOWN: /m);
    expect(stdout).toMatch(/^4 processes, 1 initialize\./m);
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
