/** A process of one of the subjects, which can be killed at each of its points. */
import { openStoreAt } from "../durable/store-place.ts";
import type { KillSubject } from "./harness.ts";
import { receiveTask } from "./killed-process.ts";

type AnySubject = KillSubject<string, object, string>;

// Only its own code is loaded.
const subjects: Readonly<Record<string, () => Promise<{ readonly subject: unknown }>>> = {
  answers: async () => ({ subject: (await import("./answers.ts")).killedAnswers }),
  resumes: async () => ({ subject: (await import("./resumes.ts")).killedResumes }),
  "sign-ins": async () => ({ subject: (await import("./sign-ins.ts")).killedSignIns }),
  "sub-agents question": async () => ({
    subject: (await import("./sub-agents.ts")).killedSubAgents,
  }),
  "sub-agents sign-in": async () => ({
    subject: (await import("./sub-agents.ts")).killedSignInsBelow,
  }),
  steps: async () => ({ subject: (await import("./steps.ts")).killedSteps }),
};

const { subject } = await subjects[process.argv[2]!]!();
const { task, at } = await receiveTask();
const { store } = await openStoreAt(task.place);
await (subject as AnySubject).work(task, { store, at });
