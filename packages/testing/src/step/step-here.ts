import { AsyncLocalStorage } from "node:async_hooks";
import type { Step, StepFunction, StepOptions, StopOptions } from "./step.ts";
import { createStepPoints, type StepPoints } from "./step-points.ts";

/** The points of the step that runs. */
const current = new AsyncLocalStorage<StepPoints>();
let patched: { readonly fetch: typeof globalThis.fetch; steps: number } | undefined;

/** Has the global `fetch` know of the steps in this process, as long as there are some. */
function patchFetch(): () => void {
  const own = (patched ??= { fetch: globalThis.fetch, steps: 0 });
  own.steps += 1;
  globalThis.fetch = (input, init) =>
    (current.getStore()?.watchFetch(own.fetch) ?? own.fetch)(input, init);
  return () => {
    own.steps -= 1;
    if (own.steps > 0) return;
    globalThis.fetch = own.fetch;
    patched = undefined;
  };
}

/** A step in this process. */
export function startHere<INPUT, OUTPUT>(
  step: StepFunction<INPUT, OUTPUT>,
  { input, clock }: StepOptions<INPUT>,
): Step<OUTPUT> {
  const reached = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const points = createStepPoints(async () => {
    reached.resolve();
    await resumed.promise;
  });
  const context = {
    fetch: points.watchFetch(patched?.fetch ?? globalThis.fetch),
    watch: points.watchStore,
    now: clock?.now ?? Date.now,
  };
  let working: Promise<OUTPUT> | undefined;
  const begin = () => {
    if (working) return working;
    const unpatch = patchFetch();
    working = current.run(points, async () => await step(input as INPUT, context)).finally(unpatch);
    working.catch(() => undefined);
    return working;
  };
  const stopped = { sent: points.sent, printed: "" };
  const goTo = async (stop: StopOptions) => {
    if (typeof stop.at === "string") points.stopAt({ ...stop, at: stop.at });
    const early = begin().then((): never => {
      throw new Error("The step ended before it was there.");
    });
    await Promise.race([typeof stop.at === "string" ? reached.promise : stop.at, early]);
    return stopped;
  };
  return {
    finish: async () => ({ output: await begin(), ...stopped }),
    kill: async (stop) => (stop ? await goTo(stop) : stopped),
    freeze: goTo,
    resume: () => resumed.resolve(),
  };
}
