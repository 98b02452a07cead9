import { describe, expect, test } from "vitest";
import { isMatrix } from "../matrix/pairs.ts";
import { expectToConform } from "./expect-to-conform.ts";
import { runScenario, runSuite } from "./run-scenario.ts";
import { parseScenarioList, type Scenario, statelessScenarios } from "./scenarios.ts";

// Each leg of a scenario is a process. `npm run lab -- conformance` runs all scenarios with all clients, CI this one
// with the first.
const clients = ["provider-pausing", "ai-sdk-2-waiting", "client-2-waiting"] as const;
const revision = "2026-07-28";
const asking = named("sep-2322-client-request-state");
const mode = "process";

function named(name: string): Scenario {
  return statelessScenarios.find((scenario) => scenario.name === name)!;
}

test("every client scenario that the suite has for 2026-07-28 is run, those about authorization elsewhere", async () => {
  const { printed } = await runSuite(["list", "--client", "--spec-version", revision]);
  const listed = parseScenarioList(printed, [revision]).map(({ name }) => name);
  const chosen = listed.filter((name) => !name.startsWith("auth/"));
  expect(chosen.toSorted()).toEqual(statelessScenarios.map(({ name }) => name).toSorted());
});

describe.concurrent("sep-2322-client-request-state, a process for each leg", () => {
  test.each(isMatrix ? clients : clients.slice(0, 1))(
    "%s is asked in one and answers in another, with other calls in between (M14, M17, M30)",
    async (client) => {
      const result = await runScenario({ scenario: asking, client, mode });
      expectToConform(asking, client, result);
      expect(result.failed).toEqual([]);
    },
  );

  test("@ai-sdk/mcp without us loses the question with its process", async () => {
    const client = "ai-sdk-2-alone";
    const result = await runScenario({ scenario: asking, client, mode });
    expectToConform(asking, client, result);
    expect(result.failed).toContain("sep-2322-client-request-state-echoed");
  });
});

test.each(["request-metadata", "http-custom-headers"])("provider-pausing, %s", async (name) => {
  const client = "provider-pausing";
  const result = await runScenario({ scenario: named(name), client, mode });
  expectToConform(named(name), client, result);
});
