import { expect } from "vitest";
import type { AnyClientName } from "./any-client.ts";
import { findExpected } from "./expected-failures.ts";
import type { ScenarioResult } from "./run-scenario.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { judge } from "./verdict.ts";

/** Its checks look at times, so it runs alone. */
export const sseRetry = scenarios.find(({ name }) => name === "sse-retry")!;

/** The requests of a scenario in which a stream breaks and is resumed. */
export const resumedStream = [
  "initialize",
  "notifications/initialized",
  "tools/list",
  "tools/call",
  "GET",
];

/** All checks of a scenario pass, or fail as is known. */
export function expectToConform(
  scenario: Scenario,
  client: AnyClientName,
  result: ScenarioResult | undefined,
): void {
  expect(result, "the scenario did not run").toBeDefined();
  const { unexpected, stale } = judge(result!, findExpected({ client, scenario: scenario.name }));
  const printed = unexpected.length === 0 ? "" : result!.printed;
  expect({ unexpected, stale, printed }).toEqual({ unexpected: [], stale: [], printed: "" });
}

/** Those of a scenario's server that logs what it gets; without a JSON-RPC method that of HTTP. */
export function requestsOf({ checks }: ScenarioResult): unknown[] {
  return checks.flatMap(({ id, details: { jsonrpcMethod, mcpMethod, method } = {} }) =>
    id === "incoming-request" ? [jsonrpcMethod ?? mcpMethod ?? method] : [],
  );
}
