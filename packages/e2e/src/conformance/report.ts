import { type AnyClientName, anyClientNames } from "./any-client.ts";
import type { ExpectedFailure } from "./expected-failures.ts";
import type { ScenarioResult, ScenarioRun } from "./run-scenario.ts";
import { everyScenario, modes } from "./scenarios.ts";
import type { Verdict } from "./verdict.ts";

/** A scenario that was run. */
export interface Outcome {
  readonly run: ScenarioRun;
  readonly result: ScenarioResult;
  readonly verdict: Verdict;
}

const titles: Record<AnyClientName, string> = {
  provider: "`@durable-mcp/ai-sdk`",
  "ai-sdk-2": "`@ai-sdk/mcp` 2",
  "sdk-1": "`@modelcontextprotocol/sdk` 1",
  "client-2": "`@modelcontextprotocol/client` 2",
  "ai-sdk-2-bare": "`@ai-sdk/mcp` 2 without the session fetch",
  "provider-pausing": "`@durable-mcp/ai-sdk` with `waiting: true`",
  "ai-sdk-2-waiting": "`@ai-sdk/mcp` 2 with waiting calls",
  "client-2-waiting": "`@modelcontextprotocol/client` 2 with waiting calls",
  "ai-sdk-2-alone": "`@ai-sdk/mcp` 2 alone",
  "client-2-alone": "`@modelcontextprotocol/client` 2 alone",
  "provider-oauth": "`@durable-mcp/ai-sdk` with `auth: oauth`",
  "ai-sdk-2-oauth": "`@ai-sdk/mcp` 2 with `oauth.connect`",
  "client-2-oauth": "`@modelcontextprotocol/client` 2 with `oauth.connect`",
};

/** The outcomes as a Markdown table for each client: how many of the suite's checks passed. */
export function renderReport(outcomes: readonly Outcome[]): string {
  return anyClientNames
    .flatMap((client) => {
      const own = outcomes.filter(({ run }) => run.client === client);
      return own.length === 0 ? [] : [`**${titles[client]}**\n\n${renderTable(own)}\n`];
    })
    .join("\n");
}

function renderTable(outcomes: readonly Outcome[]): string {
  const columns = modes.filter((mode) => outcomes.some(({ run }) => run.mode === mode));
  const rows = everyScenario.flatMap((scenario) => {
    const cells = columns.map((mode) => {
      const outcome = outcomes.find(({ run }) => run.scenario === scenario && run.mode === mode);
      return outcome === undefined ? "" : renderCell(outcome);
    });
    return cells.some((cell) => cell !== "") ? [[scenario.name, ...cells]] : [];
  });
  const head = [
    ["scenario", ...columns],
    ["---", ...columns.map(() => "---")],
  ];
  return [...head, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function renderCell({ result: { passed, failed }, verdict }: Outcome): string {
  if (verdict.kind === "passed") return `${passed} passed`;
  if (verdict.kind === "expected") return `${passed} passed, as expected not ${failed.join(", ")}`;
  const wrong = [...verdict.unexpected, ...verdict.stale.map((check) => `${check} passes now`)];
  return `${passed} passed, FAILED: ${wrong.join(", ")}`;
}

/** What is expected to fail and why, as a Markdown list. */
export function renderExpected(failures: readonly ExpectedFailure[]): string {
  return [...Map.groupBy(failures, ({ reason }) => reason)]
    .map(([reason, entries]) => {
      const clients = entries.map(({ client }) => titles[client]).join(", ");
      const checks = new Set(
        entries.flatMap((entry) => entry.checks.map((check) => `\`${check}\``)),
      );
      const names = new Set(entries.map(({ scenario }) => `\`${scenario}\``));
      return `- ${[...names].join(", ")} (${[...checks].join(", ")}), ${clients}: ${reason}`;
    })
    .join("\n");
}

/** The counts in one line, and whether all is as it should be. */
export function summarize(outcomes: readonly Outcome[]): { line: string; isGood: boolean } {
  const count = (kind: Verdict["kind"]) =>
    outcomes.filter(({ verdict }) => verdict.kind === kind).length;
  const checks = outcomes.reduce((sum, { result }) => sum + result.passed, 0);
  const [passed, expected, failed] = [count("passed"), count("expected"), count("failed")];
  return {
    line: `${passed} runs passed, ${expected} failed as expected, ${failed} failed; ${checks} checks passed`,
    isGood: failed === 0 && passed > 0,
  };
}
