/**
 * Runs the app in a process of its own, which can be killed: begins a scripted run, or goes on with
 * what an earlier process left in the folder, and prints what the run returns. It also prints when the run asks
 * a person, and answers the questions, or wakes it after a sign-in, if the environment has `ANSWERS`.
 *
 *     NOTEBOOK_URL=… node run-program.ts <bundles> <folder> <run to begin> [id of the run to go on with]
 */
import { flushCompileCache } from "node:module";
import { getRun, start } from "workflow/api";
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { callsOf } from "../../sessions/test/calls-of.ts";
import { createSignIns } from "../../ai-sdk/test/sign-ins.ts";
import type { AppBundles } from "./build-app.ts";
import { alice } from "./app/alice.ts";
import { sealed, setStepSettings, stored } from "./app/connections.ts";
import { startLocalWorld } from "./local-world.ts";

const [bundles = "", dataDir = "", options = "", runId] = process.argv.slice(2);
const app = JSON.parse(bundles) as AppBundles;
const { LOCKED_URL: url, SIGN_INS_PATH: path = "" } = process.env;
if (url !== undefined) {
  const { auth } = createSignIns({ store: createSqliteStore({ path }) });
  const notes = { url, description: "Notes.", session: "stateful", auth } as const;
  setStepSettings({ notes: defineMcpClientConnection(notes) });
}
await startLocalWorld(app, dataDir);
// For the next process: when this one is killed, Node keeps nothing.
flushCompileCache();
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
    for (const call of callsOf(await steps.waiting(id, { principal: alice }))) {
      const { round } = call;
      if (seen.has(round)) continue;
      seen.add(round);
      // The run looks by itself first whether the user has signed in.
      if (round === 0) await new Promise((resolve) => setTimeout(resolve, 1_000));
      console.log(JSON.stringify({ asked: round }));
      if (answers === null) continue;
      if (round === 0) {
        await steps.wake(id, { principal: alice });
        continue;
      }
      const keys = Object.keys(call.requests);
      const responses = Object.fromEntries(keys.map((key) => [key, answers[key]!]));
      await steps.answer(id, call.id, responses as never, { principal: alice, round });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
