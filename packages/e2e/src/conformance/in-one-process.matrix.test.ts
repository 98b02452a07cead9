import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientHost, startClientHost } from "./client-host.ts";
import { expectToConform, requestsOf, resumedStream, sseRetry } from "./expect-to-conform.ts";
import { runAllScenarios, runScenario, runSuite, type ScenarioResult } from "./run-scenario.ts";
import { parseScenarioList, type Scenario, scenarios } from "./scenarios.ts";

// The client runs in this process; `conformance.matrix.test.ts` has the provider and more modes, in processes.
// `npm run lab -- conformance` runs every scenario in every mode, with two more clients.
const client = "ai-sdk-2";
const mode = "resumed";
const newest = scenarios.filter(
  (scenario) => scenario.revision === "2025-11-25" && scenario !== sseRetry,
);
function byName(a: Scenario, b: Scenario): number {
  return a.name.localeCompare(b.name);
}

test("every client scenario that the suite has for revisions with sessions is run", async () => {
  const { printed } = await runSuite(["list", "--client"]);
  const listed = parseScenarioList(printed);
  expect(listed.length).toBeGreaterThan(20);
  expect(scenarios.toSorted(byName)).toEqual(listed.toSorted(byName));
});

describe(`${client}, ${mode}`, () => {
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
