import type { Step } from "@durable-mcp/testing";
import { startModule } from "../processes/start-module.ts";
import { assertNoSessionId } from "./session-id-canary.ts";
import type { StepInput, StepOutput, StepRun } from "./step-protocol.ts";

function startClientStep(input: StepInput): Promise<Step<StepOutput>> {
  const program = new URL("step-program.ts", import.meta.url);
  return startModule(program, { input, endsByItself: true, timeoutMs: 45_000 });
}

/** Runs one step in a new operating-system process and returns what it did. */
export async function runStep(input: StepInput): Promise<StepRun> {
  return await finish(input, await startClientStep(input));
}

/** Runs two steps that make their calls at the same time. */
export async function runStepsAtOnce(inputs: StepInput[]): Promise<StepRun[]> {
  const steps = await Promise.all(inputs.map(startClientStep));
  // Those that cannot connect never get there.
  const arrived = await Promise.allSettled(steps.map((step) => step.freeze({ at: "before-send" })));
  for (const [index, step] of steps.entries()) {
    if (arrived[index]?.status === "fulfilled") step.resume();
  }
  return await Promise.all(steps.map((step, index) => finish(inputs[index]!, step)));
}

async function finish({ snapshot }: StepInput, step: Step<StepOutput>): Promise<StepRun> {
  const { output, printed } = await step.finish();
  const run = { ...output, printed };
  assertNoSessionId(run, [snapshot, run.snapshot]);
  return run;
}
