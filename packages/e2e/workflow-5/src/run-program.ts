/**
 * Runs the app in a process of its own, which can be killed: begins a run, or
 * goes on with what an earlier process left in the folder, and prints what the run returns.
 *
 *     NOTEBOOK_URL=… node run-program.ts <app> <folder> <options> [id of the run to go on with]
 */
import { getRun, start } from "workflow/api";
import { useOneEngine } from "./one-engine.ts";
import { type App, startWorld } from "./run-app.ts";

useOneEngine();
const [built = "", dataDir = "", options = "", runId] = process.argv.slice(2);
const app = JSON.parse(built) as App;
await startWorld(app.flow, dataDir);
const run = runId
  ? getRun(runId)
  : await start({ workflowId: app.workflowIds["agentTurn"]! }, [JSON.parse(options)]);
console.log(JSON.stringify({ runId: run.runId }));
console.log(JSON.stringify({ result: await run.returnValue }));
process.exit(0);
