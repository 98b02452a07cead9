import { describe, expect, test } from "vitest";
import type { ClientName } from "./any-client.ts";
import { expectToConform, requestsOf, resumedStream, sseRetry } from "./expect-to-conform.ts";
import { runScenario, runSuite, type ScenarioResult } from "./run-scenario.ts";
import {
  authorizationScenarios,
  extension,
  type Mode,
  modes,
  parseScenarioList,
  type Scenario,
  scenarios,
} from "./scenarios.ts";
import { judge } from "./verdict.ts";

// The suite starts each client as a process, which in the mode `process` starts one for each step.
const clients = ["provider", "ai-sdk-2"] as const;
const inAllModes = ["tools_call"];
const allModes = scenarios.filter(({ name }) => inAllModes.includes(name));
// CI has a sixth of them with the provider; `npm run lab -- conformance` has all of them with all clients.
const isInCi = process.env["CI"] === "true";
const others = scenarios
  .filter((each) => each !== sseRetry && !allModes.includes(each))
  .filter((_, index) => !isInCi || index % 6 === 0);

async function expectAsKnown(
  scenario: Scenario,
  client: ClientName,
  mode: Mode,
): Promise<ScenarioResult> {
  const result = await runScenario({ scenario, client, mode });
  expectToConform(scenario, client, result);
  return result;
}

function byName(a: Scenario, b: Scenario): number {
  return a.name.localeCompare(b.name);
}

test("every client scenario of the suite is run", async () => {
  const { printed } = await runSuite(["list", "--client"]);
  const ofSessions = parseScenarioList(printed);
  expect(ofSessions.length).toBeGreaterThan(20);
  expect(scenarios.toSorted(byName)).toEqual(ofSessions.toSorted(byName));

  const revisions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", extension];
  const ofSignIns = parseScenarioList(printed, revisions).filter(({ name }) =>
    name.startsWith("auth/"),
  );
  expect(ofSignIns).toHaveLength(33);
  expect(authorizationScenarios.toSorted(byName)).toEqual(ofSignIns.toSorted(byName));
});

describe.concurrent.each(others)("$name ($revision)", (scenario) => {
  test("provider, fresh", async () => {
    await expectAsKnown(scenario, "provider", "fresh");
  });
});

describe.concurrent.each(allModes)("$name ($revision)", (scenario) => {
  describe.each(clients)("%s", (client) => {
    test.each(modes)("%s", async (mode) => {
      await expectAsKnown(scenario, client, mode);
    });
  });
});

test.each(clients)("%s is asked on the same session by a process each", async (client) => {
  const scenario = scenarios.find(({ name }) => name.startsWith("elicitation-"))!;
  const result = await expectAsKnown(scenario, client, "process");
  // The last POST is the answer to the server's question.
  expect(requestsOf(result).filter((request) => request !== "GET")).toEqual([
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
    "POST",
  ]);
});

describe.each(clients)("sse-retry (2025-11-25), %s", (client) => {
  test.each(modes)("%s, on one session", async (mode) => {
    const result = await expectAsKnown(sseRetry, client, mode);
    expect(requestsOf(result)).toEqual(resumedStream);
  });
});

test("sse-retry does not pass without the session fetch", async () => {
  const client = "ai-sdk-2-bare";
  const run = { scenario: sseRetry, client, mode: "fresh", timeoutMs: 4_000 } as const;
  const result = await runScenario(run);
  expect(result.failed).toContain("client-timeout");
  expect(judge(result, undefined).kind).toBe("failed");
});
