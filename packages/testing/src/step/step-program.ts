// A step in a process of its own: `node step-program.ts <module> [<path of its clock>]`.
import { openClock, useClock } from "../clock.ts";
import type { BeginStep, StepFunction, StepReport } from "./step.ts";
import { createStepPoints } from "./step-points.ts";

const [module = "", clockPath] = process.argv.slice(2);
const clock = clockPath === undefined ? undefined : openClock(clockPath);
if (clock) useClock(clock);

let freezes = false;
const { sent, stopAt, watchFetch, watchStore } = createStepPoints(async () => {
  // Nothing else may happen before it stands still.
  void report({ type: "reached", sent });
  if (freezes) process.kill(process.pid, "SIGSTOP");
  else await new Promise(() => undefined);
});
const fetch = watchFetch(globalThis.fetch);
globalThis.fetch = fetch;
// Without its test the process has no purpose.
const exit = () => process.exit();
process.on("disconnect", exit);

const { default: step } = (await import(module)) as { default: StepFunction<unknown, unknown> };
const begin = async ({ input, stop, endsByItself }: BeginStep) => {
  freezes = stop?.freezes ?? false;
  if (stop) stopAt(stop);
  await report({ type: "ended", sent, ...(await take(input)) });
  if (!endsByItself) exit();
  process.off("disconnect", exit);
  process.disconnect();
};
process.once("message", (told: BeginStep) => void begin(told));
await report({ type: "ready", sent });

async function take(input: unknown) {
  try {
    return { output: await step(input, { fetch, watch: watchStore, now: Date.now }) };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const { name, message, stack } = error;
    const { code, data } = error as { code?: unknown; data?: unknown };
    return { error: { name, message, stack, code, data } };
  }
}

/** @returns when it is out */
function report(message: StepReport): Promise<void> {
  return new Promise((resolve) => void process.send!(message, () => resolve()));
}
