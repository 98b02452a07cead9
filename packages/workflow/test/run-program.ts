/**
 * Runs the app in a process of its own, which can be killed: begins a scripted run, or goes on with
 * what an earlier process left in the folder, and prints what the run returns. It also prints when the run asks
 * a person, and answers the questions if the environment has `ANSWERS`.
 *
 *     NOTEBOOK_URL=… node run-program.ts <bundles> <folder> <run to begin> [id of the run to go on with]
 */
import { getRun, start } from "workflow/api";
import type { AppBundles } from "./build-app.ts";
import { alice } from "./app/alice.ts";
import { sealed, stored } from "./app/connections.ts";
import { startLocalWorld } from "./local-world.ts";

const [bundles = "", dataDir = "", options = "", runId] = process.argv.slice(2);
const app = JSON.parse(bundles) as AppBundles;
await startLocalWorld(app, dataDir);
const run = runId
  ? getRun(runId)
  : await start({ workflowId: app.workflowIds["scripted"]! }, [JSON.parse(options)]);
console.log(JSON.stringify({ runId: run.runId }));
void answerQuestions(run.runId);
console.log(JSON.stringify({ result: await run.returnValue }));
process.exit(0);

async function answerQuestions(id: string): Promise<void> {
  const answers = JSON.parse(process.env["ANSWERS"] ?? "null") as Record<string, object> | null;
  const steps = process.env["STORE_PATH"] === undefined ? sealed : stored;
  const seen = new Set<number>();
  for (;;) {
    for (const call of await steps.waiting(id, { principal: alice })) {
      const { round } = call;
      if (seen.has(round)) continue;
      seen.add(round);
      console.log(JSON.stringify({ asked: round }));
      if (answers === null) continue;
      const keys = Object.keys(call.requests);
      const responses = Object.fromEntries(keys.map((key) => [key, answers[key]!]));
      await steps.answer(id, call.id, responses as never, { principal: alice, round });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
