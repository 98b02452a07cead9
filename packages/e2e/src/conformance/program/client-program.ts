/**
 * The client that the suite starts: `client-program.ts <client> <mode> <url>`, the scenario in the
 * environment. It ends with 0 when every step did what it should.
 *
 * With `--step <n>` before the URL it is one step: it reads what the step before left from stdin
 * and prints what it leaves.
 */
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { type ClientName, loadClient } from "../any-client.ts";
import type { ScenarioContext } from "./authorization.ts";
import { openClientSession, type ClientSession, type SavedState } from "./client-session.ts";
import type { Mode } from "../scenarios.ts";
import { scenarioSteps } from "./scenario-steps.ts";
import { startAgain } from "./start-again.ts";

const [client, mode, ...rest] = process.argv.slice(2) as [ClientName, Mode, ...string[]];
const url = rest.at(-1) ?? "";
const stepIndex = rest[0] === "--step" ? Number(rest[1]) : undefined;

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as ScenarioContext;
const steps = scenarioSteps(scenario);

try {
  if (stepIndex !== undefined) await runAsProcess(stepIndex);
  else if (mode === "process") await runEachInItsProcess();
  else await runInOneProcess();
} catch (error) {
  console.error(inspect(error, { depth: 8 }));
  process.exitCode = 1;
}

async function runEachInItsProcess(): Promise<void> {
  let saved = "";
  for (const index of steps.keys()) saved = await startStep(index, saved);
}

/** Runs one step in a process that gets, and leaves, the saved state as JSON. */
async function startStep(index: number, saved: string): Promise<string> {
  const { ended, output } = await startAgain([client, mode, "--step", String(index), url], saved);
  if (ended !== 0) throw new Error(`step ${index} ended with ${ended}`);
  return output;
}

async function runAsProcess(index: number): Promise<void> {
  const step = steps[index];
  if (step === undefined) throw new Error(`the scenario has no step ${index}`);
  const saved = await text(process.stdin);
  const session = await openTask(saved === "" ? undefined : (JSON.parse(saved) as SavedState));
  await session.runStep(step);
  process.stdout.write(JSON.stringify(await session.close()));
}

/** Opens the client on what the step before left. */
async function openTask(saved: SavedState | undefined): Promise<ClientSession> {
  return openClientSession({ kind: await loadClient(client), scenario, context, url, saved });
}

/** Does the steps of the scenario in this process. */
async function runInOneProcess(): Promise<void> {
  let saved: string | undefined;
  let session = await openTask(undefined);
  for (const step of steps) {
    if (mode === "resumed" && saved !== undefined) {
      session = await openTask(JSON.parse(saved) as SavedState);
    }
    await session.runStep(step);
    if (mode === "resumed") saved = JSON.stringify(await session.close());
  }
  await session.close();
}
