import type { Step, StepFunction, StepOptions, StopOptions } from "./step.ts";
import { createStepPoints } from "./step-points.ts";

/** A step in this process. */
export function startHere<INPUT, OUTPUT>(
  step: StepFunction<INPUT, OUTPUT>,
  { input, clock }: StepOptions<INPUT>,
): Step<OUTPUT> {
  const reached = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const { sent, stopAt, watchFetch, watchStore } = createStepPoints(async () => {
    reached.resolve();
    await resumed.promise;
  });
  const stopped = { sent, printed: "" };
  let working: Promise<OUTPUT> | undefined;
  const begin = () => {
    const now = clock?.now ?? Date.now;
    const context = { fetch: watchFetch(globalThis.fetch), watch: watchStore, now };
    return (working ??= (async () => await step(input as INPUT, context))());
  };
  const goTo = async ({ at, ...which }: StopOptions) => {
    if (typeof at === "string") stopAt({ at, ...which });
    const early = begin().then((): never => {
      throw new Error("The step ended before it was there.");
    });
    await Promise.race([typeof at === "string" ? reached.promise : at, early]);
    return stopped;
  };
  return {
    finish: async () => ({ output: await begin(), ...stopped }),
    kill: async (stop) => (stop ? await goTo(stop) : stopped),
    freeze: goTo,
    resume: () => resumed.resolve(),
  };
}
