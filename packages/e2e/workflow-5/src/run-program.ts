/**
 * Runs the app in a process of its own, which can be killed: begins a run, or
 * goes on with what an earlier process left in the folder, and prints what the run returns. It also prints when the
 * run asks a person, and answers the questions if the environment has `ANSWERS`.
 *
 *     NOTEBOOK_URL=… node run-program.ts <app> <folder> <options> [id of the run to go on with]
 */
import { getRun, start } from "workflow/api";
import { useOneEngine } from "./one-engine.ts";
import { type App, startWorld } from "./run-app.ts";

useOneEngine();
const { steps } = await import("./app/connections.ts");
const [built = "", dataDir = "", options = "", runId] = process.argv.slice(2);
const app = JSON.parse(built) as App;
await startWorld(app.flow, dataDir);
const run = runId
  ? getRun(runId)
  : await start({ workflowId: app.workflowIds["agentTurn"]! }, [JSON.parse(options)]);
console.log(JSON.stringify({ runId: run.runId }));
void answerQuestions(run.runId);
console.log(JSON.stringify({ result: await run.returnValue }));
process.exit(0);

async function answerQuestions(id: string): Promise<void> {
  const { principal } = JSON.parse(options);
  const answers = JSON.parse(process.env["ANSWERS"] ?? "null") as Record<string, object> | null;
  const seen = new Set<number>();
  for (;;) {
    for (const call of await steps.waiting(id, { principal })) {
      const { round } = call;
      if (seen.has(round)) continue;
      seen.add(round);
      console.log(JSON.stringify({ asked: round }));
      if (answers === null) continue;
      const keys = Object.keys(call.requests);
      const responses = Object.fromEntries(keys.map((key) => [key, answers[key]!]));
      await steps.answer(id, call.id, responses as never, { principal, round });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
