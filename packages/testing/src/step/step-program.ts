// A step in a process of its own: `node step-program.ts <module> [<path of its clock>]`.
import { openClock, useClock } from "../clock.ts";
import type { BeginStep, StepFunction, StepReport } from "./step.ts";
import { createStepPoints } from "./step-points.ts";

const [module = "", clockPath] = process.argv.slice(2);
const clock = clockPath === undefined ? undefined : openClock(clockPath);
if (clock) useClock(clock);

let freezes = false;
const points = createStepPoints(async () => {
  // Nothing else may happen before it stands still.
  void report({ type: "reached", sent: points.sent });
  if (freezes) {
    process.kill(process.pid, "SIGSTOP");
    void report({ type: "going" });
    return;
  }
  await new Promise(() => undefined);
});
const fetch = points.watchFetch(globalThis.fetch);
globalThis.fetch = fetch;
// Without its test the process has no purpose.
const exit = () => process.exit();
process.on("disconnect", exit);

const { default: step } = (await import(module)) as { default: StepFunction<unknown, unknown> };
const begin = async ({ input, stop, endsByItself }: BeginStep) => {
  freezes = stop?.freezes ?? false;
  if (stop) points.stopAt(stop);
  await report(await take(input));
  if (!endsByItself) exit();
  process.off("disconnect", exit);
  process.disconnect();
};
process.once("message", (told: BeginStep) => void begin(told));
await report({ type: "ready" });

async function take(input: unknown): Promise<StepReport> {
  const { sent, watchStore: watch } = points;
  try {
    const output = await step(input, { fetch, watch, now: clock?.now ?? Date.now });
    return { type: "done", output, sent };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const { name, message, stack } = error;
    const { code, data } = error as { code?: unknown; data?: unknown };
    return { type: "failed", error: { name, message, stack, code, data }, sent };
  }
}

/** @returns when it is out */
function report(message: StepReport): Promise<void> {
  return new Promise((resolve) => void process.send!(message, () => resolve()));
}
