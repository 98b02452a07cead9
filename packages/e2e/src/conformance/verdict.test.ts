import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expectedFailures, findExpected } from "./expected-failures.ts";
import { renderExpected, summarize } from "./report.ts";
import type { ScenarioResult } from "./run-scenario.ts";
import { everyScenario, modes, parseScenarioList, scenarios } from "./scenarios.ts";
import { judge, type Verdict } from "./verdict.ts";

const page = readFileSync(
  new URL("../../../../docs/reports/conformance.md", import.meta.url),
  "utf8",
);

const result = (...failed: string[]): ScenarioResult => ({
  passed: 3,
  failed,
  checks: [],
  printed: "",
});
const expected = (...checks: string[]) => ({
  client: "ai-sdk-2" as const,
  scenario: "tools_call",
  checks,
  reason: "",
});

describe("a result is", () => {
  test.each<[string, ScenarioResult, ReturnType<typeof expected> | undefined, Verdict]>([
    ["passed", result(), undefined, { kind: "passed", unexpected: [], stale: [] }],
    [
      "expected",
      result("a", "b"),
      expected("b", "a"),
      { kind: "expected", unexpected: [], stale: [] },
    ],
    [
      "failed: nobody expected it",
      result("a"),
      undefined,
      { kind: "failed", unexpected: ["a"], stale: [] },
    ],
    [
      "failed: more than expected",
      result("a", "b"),
      expected("a"),
      { kind: "failed", unexpected: ["b"], stale: [] },
    ],
    [
      "failed: it passes now",
      result(),
      expected("a"),
      { kind: "failed", unexpected: [], stale: ["a"] },
    ],
    [
      "failed: a part passes now",
      result("a"),
      expected("a", "b"),
      { kind: "failed", unexpected: [], stale: ["b"] },
    ],
  ])("%s", (_title, outcome, entry, verdict) => {
    expect(judge(outcome, entry)).toEqual(verdict);
  });
});

describe("a run is good", () => {
  const [scenario] = scenarios;
  const outcome = (kind: Verdict["kind"]) => ({
    run: { scenario: scenario!, client: "ai-sdk-2" as const, mode: modes[0] },
    result: result(),
    verdict: { kind, unexpected: [], stale: [] },
  });

  test("when all passed or failed as expected", () => {
    expect(summarize([outcome("passed"), outcome("expected")])).toEqual({
      line: "1 runs passed, 1 failed as expected, 0 failed; 6 checks passed",
      isGood: true,
    });
  });

  test.each([[["passed", "failed"]], [["expected"]], [[]]] as const)("but not with %j", (kinds) => {
    expect(summarize(kinds.map(outcome)).isGood).toBe(false);
  });
});

describe("what is expected to fail", () => {
  test("is on the page, with its reasons", () => {
    expect(page).toContain(renderExpected(expectedFailures));
  });

  test.each(expectedFailures)("$client $scenario has a reason, checks and a scenario", (entry) => {
    expect(entry.reason.length).toBeGreaterThan(20);
    expect(entry.checks).not.toEqual([]);
    expect(everyScenario.map(({ name }) => name)).toContain(entry.scenario);
    expect(findExpected(entry)).toBe(entry);
  });
});

test("the suite's list is read: only scenarios of revisions with sessions, by the newest", () => {
  const printed = [
    "Client scenarios (test against a client):",
    "  - a [2025-03-26,2025-06-18]",
    "  - auth/b [2025-11-25,2026-07-28]",
    "  - c [2026-07-28]",
    "  - d [extension]",
  ];
  expect(parseScenarioList(printed.join("\n"))).toEqual([
    { name: "a", revision: "2025-06-18" },
    { name: "auth/b", revision: "2025-11-25" },
  ]);
});
