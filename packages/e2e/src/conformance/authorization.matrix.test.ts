import { describe, expect, test } from "vitest";
import { expectToConform } from "./expect-to-conform.ts";
import { runScenario, runSuite } from "./run-scenario.ts";
import {
  authorizationScenarios,
  extension,
  notCovered,
  parseScenarioList,
  type Scenario,
} from "./scenarios.ts";

// Each part of a scenario is a process. CI has a third of them; `npm run lab -- conformance` has all of them with all clients.
const isInCi = process.env["CI"] === "true";
const runs = authorizationScenarios
  .map((scenario, index) => ({
    scenario,
    client: index % 2 === 0 ? ("provider-oauth" as const) : ("client-2-oauth" as const),
    runsInCi: index % 6 === 2 || index % 6 === 3,
  }))
  .filter((run) => !isInCi || run.runsInCi);

function byName(a: Scenario, b: Scenario): number {
  return a.name.localeCompare(b.name);
}

test("every client scenario about authorization is run, but for those that are listed as not covered", async () => {
  const { printed } = await runSuite(["list", "--client"]);
  const revisions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", extension];
  const listed = parseScenarioList(printed, revisions).filter(({ name }) =>
    name.startsWith("auth/"),
  );
  const left = notCovered.flatMap(({ names }) =>
    names.map((name) => ({ name, revision: extension })),
  );
  expect(listed).toHaveLength(33);
  expect([...authorizationScenarios, ...left].toSorted(byName)).toEqual(listed.toSorted(byName));
});

describe.concurrent("a process for each part", () => {
  test.each(runs)("$client, $scenario.name", async ({ client, scenario }) => {
    const result = await runScenario({ scenario, client, mode: "process" });
    expectToConform(scenario, client, result);
  });
});
