/**
 * Runs the app in a process of its own, which can be killed: begins a scripted run, or goes on with
 * what an earlier process left in the folder, and prints what the run returns.
 *
 *     NOTEBOOK_URL=… node run-program.ts <bundles> <folder> <run to begin> [id of the run to go on with]
 */
import { getRun, start } from "workflow/api";
import type { AppBundles } from "./build-app.ts";
import { startLocalWorld } from "./local-world.ts";

const [bundles = "", dataDir = "", options = "", runId] = process.argv.slice(2);
const app = JSON.parse(bundles) as AppBundles;
await startLocalWorld(app, dataDir);
const run = runId
  ? getRun(runId)
  : await start({ workflowId: app.workflowIds["scripted"]! }, [JSON.parse(options)]);
console.log(JSON.stringify({ runId: run.runId }));
console.log(JSON.stringify({ result: await run.returnValue }));
process.exit(0);
