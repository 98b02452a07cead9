import { describe, expect, test } from "vitest";
import { fillSection, targetsSection } from "./page.ts";
import type { BenchPart } from "./part.ts";

const part: BenchPart = {
  id: "calls",
  title: "A call",
  ratios: [
    { label: "JSON", ratio: 0.95, low: 0.91, high: 0.98, target: { atLeast: 0.9 } },
    { label: "SSE <1 & 8>", ratio: 0.86, low: 0.84, high: 0.88, target: { atLeast: 0.85 } },
    { label: "shown only", ratio: 1.2, low: 0, high: Infinity },
  ],
  counts: [
    { label: "a resumed step", value: 2, unit: "reads", target: { atMost: 1 } },
    { group: "Others", label: "bare", value: 7, unit: "reads" },
  ],
  tables: [],
  notes: [],
};

describe("fillSection", () => {
  test("replaces what stands between the markers, and keeps all else", () => {
    const page = "before\n<!-- calls -->\nold\n<!-- /calls -->\nafter\n";
    expect(fillSection(page, "calls", "new")).toBe(
      "before\n<!-- calls -->\n\nnew\n\n<!-- /calls -->\nafter\n",
    );
  });

  test("says which markers a page lacks", () => {
    expect(() => fillSection("<!-- calls -->", "calls", "")).toThrow(/no <!-- calls -->/);
  });
});

test("the targets of a part are counted, and those that are missed or open are named", () => {
  const run = { command: "", date: "", cpu: "", node: "", loadBefore: 0, seconds: 0 };
  const row = targetsSection("## All calls\n<!-- calls -->", { calls: { part, run } })
    .split("\n")
    .at(-1);
  expect(row).toBe(
    "| [A call](#all-calls) | 1 of 3 | SSE &lt;1 & 8>: 0.86 (0.84–0.88), ≥ 0.85, not decided<br>a resumed step: 2 reads, ≤ 1 |",
  );
});
