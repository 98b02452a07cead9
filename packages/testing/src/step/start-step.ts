import type { FinishedStep, Step, StepFunction, StepOptions } from "./step.ts";
import { startHere } from "./step-here.ts";
import { startProcess } from "./step-process.ts";

/**
 * Starts a step in a process of its own, or a function in this one for quick tests. A function that is "killed" goes no
 * further: none of its requests and operations of its store come back.
 *
 * @param step a module's URL, whose default export is the step; or that function
 * @example
 * const step = await startStep(new URL("./step.ts", import.meta.url), { input: "chat 1" });
 * await step.kill({ at: "after-send" });
 */
export async function startStep<INPUT, OUTPUT>(
  step: string | URL | StepFunction<INPUT, OUTPUT>,
  options: StepOptions<INPUT> = {},
): Promise<Step<OUTPUT>> {
  if (typeof step === "function") return startHere(step, options);
  return await startProcess(String(step), options);
}

/** Starts a step and lets it work to its end. @throws as `finish` of the step */
export async function runStep<INPUT, OUTPUT>(
  step: string | URL | StepFunction<INPUT, OUTPUT>,
  options: StepOptions<INPUT> = {},
): Promise<FinishedStep<OUTPUT>> {
  const started = await startStep(step, options);
  return await started.finish();
}
