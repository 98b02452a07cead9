import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientHost, startClientHost } from "./client-host.ts";
import { expectToConform, requestsOf, resumedStream, sseRetry } from "./expect-to-conform.ts";
import { runAllScenarios, runScenario, runSuite, type ScenarioResult } from "./run-scenario.ts";
import { parseScenarioList, type Scenario, scenarios } from "./scenarios.ts";

// The clients run in this process; `conformance.matrix.test.ts` has more modes, in processes. `npm run
// conformance` runs every scenario in every mode, with two more clients.
const runs = [
  { client: "provider", mode: "fresh" },
  { client: "ai-sdk-2", mode: "resumed" },
] as const;
const newest = scenarios.filter(
  (scenario) => scenario.revision === "2025-11-25" && scenario !== sseRetry,
);
const older = scenarios.filter(({ revision }) => revision === "2025-03-26");

function byName(a: Scenario, b: Scenario): number {
  return a.name.localeCompare(b.name);
}

test("every client scenario that the suite has for revisions with sessions is run", async () => {
  const { printed } = await runSuite(["list", "--client"]);
  const listed = parseScenarioList(printed);
  expect(listed.length).toBeGreaterThan(20);
  expect(scenarios.toSorted(byName)).toEqual(listed.toSorted(byName));
  expect([...newest, ...older, sseRetry].toSorted(byName)).toEqual(scenarios.toSorted(byName));
});

describe.each(runs)("$client, $mode", ({ client, mode }) => {
  let host: ClientHost;
  let results: Map<string, ScenarioResult>;
  beforeAll(async () => {
    host = await startClientHost(client, mode);
    results = await runAllScenarios({ revision: "2025-11-25", client, mode, host });
  });
  afterAll(() => host?.[Symbol.asyncDispose]());

  test.each(newest)("$name ($revision)", (scenario) => {
    expectToConform(scenario, client, results.get(scenario.name));
  });

  test("sse-retry (2025-11-25), on one session", async () => {
    const result = await runScenario({ scenario: sseRetry, client, mode, host });
    expectToConform(sseRetry, client, result);
    expect(requestsOf(result)).toEqual(resumedStream);
  });
});

describe("provider, fresh, on an older revision", () => {
  let results: Map<string, ScenarioResult>;
  beforeAll(async () => {
    const [client, mode] = ["provider", "fresh"] as const;
    await using host = await startClientHost(client, mode);
    results = await runAllScenarios({ revision: "2025-03-26", client, mode, host });
  });

  test.each(older)("$name ($revision)", (scenario) => {
    expectToConform(scenario, "provider", results.get(scenario.name));
  });
});
