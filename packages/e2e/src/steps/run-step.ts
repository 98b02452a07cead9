import { type ChildProcess, spawn } from "node:child_process";
import { compileCache } from "../processes/compile-cache.ts";
import { programArguments } from "../processes/programs.ts";
import { assertNoSessionId } from "./session-id-canary.ts";
import type { StepInput, StepOutput, StepRun } from "./step-protocol.ts";

export interface RunningStep {
  /** Rejects when the process ends without an output, as after `kill`. */
  finished: Promise<StepRun>;
  /** With `waitForGo`: resolves when the client is connected. */
  connected: Promise<void>;
  /** Lets a connected step make its calls from this time on. */
  go: (startAt: number) => void;
  /** `kill -9`; resolves when the process is gone. */
  kill: () => Promise<void>;
}

const program = new URL("./step-program.ts", import.meta.url);
const stepTimeoutMs = 45_000;

const environment = {
  ...process.env,
  ...compileCache,
  // Some Node versions warn when they run TypeScript; a step prints nothing of its own.
  NODE_NO_WARNINGS: "1",
};

/** Runs one step in a new operating-system process and returns what it printed. */
export function runStep(input: StepInput): Promise<StepRun> {
  return startStep(input).finished;
}

/** Runs two steps that make their calls at the same time. */
export async function runStepsAtOnce(inputs: StepInput[]): Promise<StepRun[]> {
  const steps = inputs.map((input) => startStep({ ...input, waitForGo: true }));
  // A step that cannot connect never says so: its end counts as well.
  await Promise.all(steps.map((step) => Promise.race([step.connected, step.finished])));
  const startAt = Date.now() + 100;
  for (const step of steps) step.go(startAt);
  return Promise.all(steps.map((step) => step.finished));
}

/** Starts one step, so that the caller can kill it. */
export function startStep(input: StepInput): RunningStep {
  const child = spawn(process.execPath, programArguments(program), {
    env: environment,
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined); // EPIPE after a kill
  child.stdin.write(`${JSON.stringify(input)}\n`);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));

  const connected = Promise.withResolvers<void>();
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    if (stdout.startsWith("connected\n")) connected.resolve();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));

  async function finish(): Promise<StepRun> {
    const timer = setTimeout(() => {
      stderr += `\n[the step did not end within ${stepTimeoutMs} ms]`;
      child.kill("SIGKILL");
    }, stepTimeoutMs);
    await ended;
    clearTimeout(timer);
    const outputLine = stdout.split("\n").find((line) => line.startsWith("{"));
    if (child.signalCode !== null || outputLine === undefined) throw stepFailure(child, stderr);
    const run = {
      ...(JSON.parse(outputLine) as StepOutput),
      printed: stdout.replace(`${outputLine}\n`, "") + stderr,
    };
    assertNoSessionId(run, [input.snapshot, run.snapshot]);
    return run;
  }

  const finished = finish();
  finished.catch(() => undefined); // the caller of kill() need not look
  return {
    finished,
    connected: connected.promise,
    go: (startAt) => child.stdin.write(`${startAt}\n`),
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

function stepFailure(child: ChildProcess, stderr: string): Error {
  return new Error(
    `the step ended with ${child.signalCode ?? child.exitCode} and printed:\n${stderr}`,
  );
}
