/**
 * `npm run lab -- conformance`: all scenarios × clients × modes, as a table for each client. It ends with 0
 * only when every check passed, or failed as `expected-failures.ts` says.
 *
 *     npm run lab -- conformance --client ai-sdk-2 --mode process --scenario sse-retry
 *
 * Each option may be repeated. `--write` writes the results into docs/reports/conformance.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type ClientName, clientNames, legClientNames, signInClientNames } from "./any-client.ts";
import { expectedFailures, findExpected } from "./expected-failures.ts";
import { type Outcome, renderExpected, renderReport, summarize } from "./report.ts";
import { runScenario, type ScenarioRun } from "./run-scenario.ts";
import {
  authorizationScenarios,
  type Mode,
  modes,
  scenarios,
  statelessScenarios,
} from "./scenarios.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({
  options: {
    client: { type: "string", multiple: true },
    mode: { type: "string", multiple: true },
    scenario: { type: "string", multiple: true },
    write: { type: "boolean", default: false },
  },
});

if (values.write && (values.client ?? values.mode ?? values.scenario) !== undefined) {
  throw new Error("--write is for a run of everything");
}
const runs = chooseRuns();
const outcomes: Outcome[] = [];
await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));

const report = renderReport(outcomes);
console.log(`\n${report}`);
for (const { run, result, verdict } of outcomes) {
  if (verdict.kind !== "failed") continue;
  console.log(`FAILED ${run.scenario.name}, ${run.client}, ${run.mode}`);
  for (const check of verdict.unexpected) console.log(`  failed: ${check}`);
  for (const check of verdict.stale) {
    console.log(`  passes now, remove it from expected-failures.ts: ${check}`);
  }
  if (verdict.unexpected.length > 0) console.log(result.printed.replaceAll(/^/gm, "  | "));
}
const summary = summarize(outcomes);
console.log(summary.line);
if (values.write) writeDocs();
process.exitCode = summary.isGood ? 0 : 1;

async function work(): Promise<void> {
  for (;;) {
    const run = runs.shift();
    if (run === undefined) return;
    const result = await runScenario(run);
    const expected = findExpected({ client: run.client, scenario: run.scenario.name });
    const verdict = judge(result, expected);
    outcomes.push({ run, result, verdict });
    console.error(`${verdict.kind.padEnd(8)} ${run.client} ${run.mode} ${run.scenario.name}`);
  }
}

/** What the options name; by default everything, and beside it the clients without us. */
function chooseRuns(): ScenarioRun[] {
  const all: { client: ClientName; mode: Mode }[] = [
    ...clientNames.flatMap((client) => modes.map((mode) => ({ client, mode }))),
    { client: "ai-sdk-2-bare", mode: "fresh" },
  ];
  const chosen: ScenarioRun[] = [
    ...scenarios.flatMap((scenario) => all.map((one) => ({ scenario, ...one }))),
    ...statelessScenarios.flatMap((scenario) =>
      legClientNames.map((client) => ({ scenario, client, mode: "process" as const })),
    ),
    ...authorizationScenarios.flatMap((scenario) =>
      signInClientNames.map((client) => ({ scenario, client, mode: "process" as const })),
    ),
  ];
  const named = chosen.filter(
    ({ scenario, client, mode }) =>
      isNamed(values.scenario, scenario.name) &&
      isNamed(values.client, client) &&
      isNamed(values.mode, mode),
  );
  if (named.length === 0) throw new Error("no scenario, client and mode has these names");
  return named;
}

function isNamed(names: string[] | undefined, name: string): boolean {
  return names?.includes(name) ?? true;
}

function writeDocs(): void {
  const today = new Date().toISOString().slice(0, 10);
  const text = [
    "## The run on this page",
    `\`npm run lab -- conformance --write\` on ${today}, Node ${process.versions.node}, ${process.platform} ${process.arch}, ${availableParallelism()} cores: **${summary.line}.** A cell counts the checks that passed.`,
    report.trim(),
    "## What is expected to fail",
    renderExpected(expectedFailures),
  ].join("\n\n");
  const path = fileURLToPath(new URL("../../../../docs/reports/conformance.md", import.meta.url));
  const [before, after] = [/^[^]*<!-- tables -->\n/, /\n<!-- end of tables -->[^]*$/].map(
    (pattern) => pattern.exec(readFileSync(path, "utf8"))?.[0],
  );
  if (before === undefined || after === undefined)
    throw new Error("the page has no place for them");
  writeFileSync(path, `${before}\n${text}\n${after}`);
}
