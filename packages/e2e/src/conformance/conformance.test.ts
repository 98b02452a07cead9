import { describe, expect, test } from "vitest";
import type { ClientName } from "./clients/index.ts";
import { findExpected } from "./expected-failures.ts";
import { type Mode, modes } from "./program/modes.ts";
import { type ScenarioResult, runScenario, runSuite } from "./run-scenario.ts";
import { parseScenarioList, type Scenario, scenarios } from "./scenarios.ts";
import { judge } from "./verdict.ts";

// A share of `npm run conformance`, which runs every scenario in every mode, with two more clients.
const clients = ["provider", "ai-sdk-2"] as const;
const inAllModes = ["initialize", "tools_call"];
// Its checks look at times, so it runs alone.
const sseRetry = scenarios.filter(({ name }) => name === "sse-retry");
const allModes = scenarios.filter(({ name }) => inAllModes.includes(name));
const others = scenarios.filter(
  (scenario) => !sseRetry.includes(scenario) && !allModes.includes(scenario),
);

async function expectToConform(
  scenario: Scenario,
  client: ClientName,
  mode: Mode,
): Promise<ScenarioResult> {
  const result = await runScenario({ scenario, client, mode });
  const { unexpected, stale } = judge(result, findExpected({ client, scenario: scenario.name }));
  const printed = unexpected.length === 0 ? "" : result.printed;
  expect({ unexpected, stale, printed }).toEqual({ unexpected: [], stale: [], printed: "" });
  return result;
}

/** Those of a scenario's server that logs what it gets; without a JSON-RPC method that of HTTP. */
function requestsOf({ checks }: ScenarioResult): unknown[] {
  return checks.flatMap(({ id, details: { jsonrpcMethod, mcpMethod, method } = {} }) =>
    id === "incoming-request" ? [jsonrpcMethod ?? mcpMethod ?? method] : [],
  );
}

function byName(a: Scenario, b: Scenario): number {
  return a.name.localeCompare(b.name);
}

test("every client scenario that the suite has for revisions with sessions is run", async () => {
  const { printed } = await runSuite(["list", "--client"]);
  const listed = parseScenarioList(printed);
  expect(listed.length).toBeGreaterThan(20);
  expect(scenarios.toSorted(byName)).toEqual(listed.toSorted(byName));
});

describe.concurrent.each(others)("$name ($revision)", (scenario) => {
  test("provider, fresh", async () => {
    await expectToConform(scenario, "provider", "fresh");
  });
});

describe.concurrent.each(allModes)("$name ($revision)", (scenario) => {
  describe.each(clients)("%s", (client) => {
    test.each(modes)("%s", async (mode) => {
      await expectToConform(scenario, client, mode);
    });
  });
});

test.each(clients)("%s is asked on the same session by a process each", async (client) => {
  const [scenario] = scenarios.filter(({ name }) => name.startsWith("elicitation-"));
  const result = await expectToConform(scenario!, client, "process");
  const requests = requestsOf(result).filter((request) => request !== "GET");
  // The last POST is the answer to the server's question.
  expect(requests).toEqual([
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
    "POST",
  ]);
});

describe.each(sseRetry)("$name ($revision)", (scenario) => {
  describe.each(clients)("%s", (client) => {
    test.each(modes)("%s, on one session", async (mode) => {
      const result = await expectToConform(scenario, client, mode);
      expect(requestsOf(result)).toEqual([
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "GET",
      ]);
    });
  });

  test("does not pass without the session fetch", async () => {
    const run = { scenario, client: "ai-sdk-2-bare", mode: "fresh", timeoutMs: 4_000 } as const;
    const result = await runScenario(run);
    expect(result.failed).toContain("client-timeout");
    expect(judge(result, undefined).kind).toBe("failed");
  });
});
