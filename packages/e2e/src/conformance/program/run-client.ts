import type { ScenarioContext } from "./authorization.ts";
import { openClientSession, type ClientSession, type SavedState } from "./client-session.ts";
import { type ClientName, loadClient } from "../clients/index.ts";
import type { Mode } from "./modes.ts";
import { scenarioSteps } from "./scenario-steps.ts";

/** What the suite tells a client. */
export interface ClientTask {
  readonly client: ClientName;
  readonly scenario: string;
  readonly context: ScenarioContext;
  readonly url: string;
}

/** Opens a client on what the step before left. */
export async function openTask(
  { client, ...task }: ClientTask,
  saved: SavedState | undefined,
): Promise<ClientSession> {
  return openClientSession({ kind: await loadClient(client), ...task, saved });
}

/** Does the steps of a scenario in this process. */
export async function runClient(task: ClientTask, mode: Exclude<Mode, "process">): Promise<void> {
  let saved: string | undefined;
  let session = await openTask(task, undefined);
  for (const step of scenarioSteps(task.scenario)) {
    if (mode === "resumed" && saved !== undefined) {
      session = await openTask(task, JSON.parse(saved) as SavedState);
    }
    await session.runStep(step);
    if (mode === "resumed") saved = JSON.stringify(await session.close());
  }
  await session.close();
}
