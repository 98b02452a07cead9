import { describe, expect, test } from "vitest";
import { drawCounts, drawRatios } from "./chart.ts";
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
    { group: "Others", label: "bare", value: 7, unit: "reads", isOurs: false },
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

describe("a chart", () => {
  test("has a title and a description for readers who do not see it", async () => {
    const svg = await drawRatios(part.title, part.ratios);
    expect(svg).toContain('<title id="title">A call</title>');
    expect(svg).toContain("SSE &lt;1 &amp; 8&gt;: 0.86 (0.84–0.88), target ≥ 0.85;");
    expect(svg).toMatch(/^<svg role="img" aria-labelledby="title text"/);
  });

  test("shows each figure with its verdict, and headings without a figure", async () => {
    expect(textsOf(await drawRatios(part.title, part.ratios))).toEqual(
      expect.arrayContaining([
        "0.95 (0.91–0.98), ≥ 0.9",
        "0.86 (0.84–0.88), ≥ 0.85: open",
        "1.20 (no bounds)",
      ]),
    );
    const counted = textsOf(await drawCounts(part.title, part.counts));
    expect(counted).toEqual(expect.arrayContaining(["Others", "2, ≤ 1: missed", "7"]));
    expect(counted).not.toContain("undefined");
  });

  test("has other colours on a dark page", async () => {
    const svg = await drawRatios(part.title, part.ratios);
    const [, rules = ""] = /prefers-color-scheme: dark\) \{(.*)\}<\/style>/.exec(svg)!;
    const used = svg.replace(/<style>.*<\/style>/, "").match(/(?:fill|stroke)="#\w+"/g)!;
    expect(used.length).toBeGreaterThan(0);
    for (const colour of new Set(used)) expect(rules).toContain(`[${colour}]`);
  });
});

function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!);
}
