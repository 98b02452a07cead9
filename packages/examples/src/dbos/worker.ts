/**
 * A process that runs an agent as a DBOS workflow, and those that another process was in the middle
 * of when it was killed. It prints a line of JSON for each step that it carried out.
 *
 *     SEALING_KEY=… node worker.ts <URL of PostgreSQL> <URL of the MCP server> <chat> <run>
 */
import { DBOS } from "@dbos-inc/dbos-sdk";
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { type AgentRunResult, registerAgentWorkflow } from "./agent-workflow.ts";
import { dbosTurns, issuer, userId, workflowId } from "./demo-runs.ts";
import { createScriptedModel } from "../steps/scripted-model.ts";

const ofEveryStep = new Set(["client", "operation", "step-ended"]);

const [databaseUrl = "", url = "", chatId = "", runText = ""] = process.argv.slice(2);
const run = Number(runText);
const turn = dbosTurns[run - 1];
if (!turn) throw new RangeError(`There is no run ${run}.`);
const print = (line: object) => console.log(JSON.stringify({ pid: process.pid, run, ...line }));

const safeTools = ["list_items"];
const runAgent = registerAgentWorkflow({
  provider: createConnectionProvider({
    connections: {
      cart: defineMcpClientConnection({
        url,
        description: "The user's shopping cart.",
        session: { mode: "stateful", resend: safeTools },
      }),
    },
    // What becomes of the sessions. The others come in every step.
    onEvent: { every: ({ type }) => ofEveryStep.has(type) || print({ event: type }) },
  }),
  keys: { current: process.env["SEALING_KEY"] ?? "" },
  issuer,
  model: createScriptedModel(turn),
  safeTools: safeTools.map((name) => `cart__${name}`),
  onStep: (step, outcome) => print({ step, outcome }),
});

DBOS.setConfig({
  name: "durable-mcp-demo",
  systemDatabaseUrl: databaseUrl,
  // A run is recovered by processes of the same version only.
  applicationVersion: "1",
  logLevel: "error",
});
await DBOS.launch();

// What the run before has left for this one is where DBOS keeps it, in its log.
const before =
  run === 1
    ? undefined
    : await DBOS.retrieveWorkflow<AgentRunResult>(workflowId(chatId, run - 1)).getResult();
// The same again after a kill: DBOS starts a workflow of this id once.
const handle = await DBOS.startWorkflow(runAgent, {
  workflowID: workflowId(chatId, run),
  authenticatedUser: userId,
})({
  chatId,
  messages: [...(before?.messages ?? []), { role: "user", content: turn.prompt }],
  sealed: before?.sealed,
});
const { text, sealed } = await handle.getResult({ pollingIntervalMs: 100 });
print({ text, sealed });
await DBOS.shutdown();
