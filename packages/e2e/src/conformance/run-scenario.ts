import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { compileCache } from "../processes/compile-cache.ts";
import { packageBin } from "../processes/package-bin.ts";
import { programArguments } from "../processes/programs.ts";
import { type AnyClientName, isLegClient, isSignInClient } from "./any-client.ts";
import { extension, type Mode, type Scenario } from "./scenarios.ts";

export interface ScenarioResult {
  /** How many checks passed. */
  readonly passed: number;
  /**
   * What did not: the ids of the suite's checks that failed or gave a warning, each once;
   * `client-exit` and `client-timeout` for how the client ended, or `leg-<n>` for each leg that failed;
   * `no-checks` when none was made.
   */
  readonly failed: readonly string[];
  /** What the suite saw, in its words. */
  readonly checks: readonly Check[];
  /** What the suite printed, the client's own output with it when that failed. */
  readonly printed: string;
}

/** One entry of the suite's `checks.json`. */
interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  readonly details?: Record<string, unknown>;
}

export interface ScenarioRun {
  scenario: Scenario;
  client: AnyClientName;
  mode: Mode;
  /** How long the client may take, in milliseconds. @default 100000 */
  timeoutMs?: number;
}

const program = new URL("./program/client-program.ts", import.meta.url);
const signInProgram = new URL("./program/sign-in-program.ts", import.meta.url);
const legsProgram = new URL("./program/legs-program.ts", import.meta.url);
const retryCheck = "client-sse-retry-timing";

/**
 * Runs a client through a scenario. The suite minds when a client reconnects more than 200 ms late,
 * which once, on a busy machine, says nothing of the client: a run with nothing else wrong is
 * repeated, twice at most. One that is too early is not.
 */
export async function runScenario(run: ScenarioRun): Promise<ScenarioResult> {
  for (let repeats = 2; ; repeats -= 1) {
    const result = await runOnce(run);
    const isLate = result.checks.some(
      ({ id, details }) => id === retryCheck && details?.["tooEarly"] === false,
    );
    if (repeats === 0 || !isLate || result.failed.join() !== retryCheck) return result;
  }
}

/** Runs the suite's own command line and returns what it printed. */
export async function runSuite(args: string[]): Promise<{ code: number | null; printed: string }> {
  const suite = spawn(
    process.execPath,
    [packageBin("@modelcontextprotocol/conformance"), ...args],
    {
      env: {
        ...process.env,
        ...compileCache,
        // Some Node versions warn when they run TypeScript.
        NODE_NO_WARNINGS: "1",
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const ended = new Promise<number | null>((resolve, reject) => {
    suite.once("error", reject);
    suite.once("close", resolve);
  });
  const [stdout, stderr, code] = await Promise.all([text(suite.stdout), text(suite.stderr), ended]);
  return { code, printed: stdout + stderr };
}

async function runOnce({
  scenario,
  client,
  mode,
  timeoutMs = 100_000,
}: ScenarioRun): Promise<ScenarioResult> {
  const command = clientCommand(client, mode);
  return await inFolder(async (directory) => {
    const { code, printed } = await runSuite([
      "client",
      ...["--scenario", scenario.name, "--command", command],
      ...(scenario.revision === extension ? [] : ["--spec-version", scenario.revision]),
      ...["--timeout", String(timeoutMs), "--output-dir", directory],
    ]);
    const ended = failuresOfClient(client, printed);
    const result = resultOf(await readChecks(directory), ended, printed);
    return code !== 0 && result.failed.length === 0
      ? { ...result, failed: ["suite-exit"] }
      : result;
  });
}

function failuresOfClient(client: AnyClientName, printed: string): string[] {
  if (printed.includes("CLIENT TIMED OUT")) return ["client-timeout"];
  // Such a client knows how a scenario ends, so it never fails, even where the suite allows it.
  if (isSignInClient(client)) return /^Client exited with/m.test(printed) ? ["client-exit"] : [];
  if (!printed.includes("CLIENT EXITED WITH ERROR")) return [];
  const legs = [...printed.matchAll(/^leg (\d+) failed/gm)].map(([, leg]) => `leg-${leg}`);
  return legs.length > 0 ? legs : ["client-exit"];
}

/** Outside of the repository, and gone at the end: the suite's logs hold ids and tokens. */
async function inFolder<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "durable-mcp-conformance-"));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function resultOf(checks: Check[], ended: readonly string[], printed: string): ScenarioResult {
  const failed = new Set([...checks.filter(isFailed).map(({ id }) => id), ...ended]);
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  if (passed === 0) failed.add("no-checks");
  return { passed, failed: [...failed], checks, printed };
}

function clientCommand(client: AnyClientName, mode: Mode): string {
  if (isSignInClient(client)) return shellCommand(signInProgram, client);
  return isLegClient(client)
    ? shellCommand(legsProgram, client)
    : shellCommand(program, client, mode);
}

/** The suite writes `<directory>/<scenario>-<time>/checks.json`, the scenario's slash included. */
async function readChecks(directory: string): Promise<Check[]> {
  const files = await readdir(directory, { recursive: true });
  const file = files.find((name) => name.endsWith("checks.json"));
  if (file === undefined) return [];
  return JSON.parse(await readFile(join(directory, file), "utf8")) as Check[];
}

function isFailed({ status }: Check): boolean {
  return status === "FAILURE" || status === "WARNING";
}

/** Runs a program of ours. With `exec` it takes the shell's place, so that it is what the suite ends. */
function shellCommand(script: URL, ...args: string[]): string {
  const parts = [process.execPath, ...programArguments(script)];
  return ["exec", ...parts.map(quoted), ...args].join(" ");
}

function quoted(part: string): string {
  return `'${part.replaceAll("'", String.raw`'\''`)}'`;
}
