/** A process of one of the subjects, which can be killed at each of its points: a step. */
import type { StepContext } from "@durable-mcp/testing";
import { openStoreAt } from "../durable/store-place.ts";
import type { KilledTask, KillSubject } from "./harness.ts";

type AnySubject = KillSubject<string, object, string>;

// Only its own code is loaded.
const subjects: Readonly<Record<string, () => Promise<{ readonly subject: unknown }>>> = {
  "sign-ins": async () => ({ subject: (await import("./sign-ins.ts")).killedSignIns }),
  steps: async () => ({ subject: (await import("./steps.ts")).killedSteps }),
};

export default async function work(
  { subject: name, task }: { subject: string; task: KilledTask<string, object> },
  context: StepContext,
): Promise<void> {
  const { subject } = await subjects[name]!();
  const { store } = await openStoreAt(task.place);
  await (subject as AnySubject).work(task, { ...context, store });
}
