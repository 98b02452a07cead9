/** `node workflow.mjs <run> <url> <folder> <mark>`: a worker of a Mastra workflow, which begins a run or takes up those that were killed. */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { Mastra } from "@mastra/core";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { LibSQLStore } from "@mastra/libsql";
import { z } from "zod";

const [runId, url, folder, hasMark] = process.argv.slice(2);
const store = createSqliteStore({ path: `${folder}/sessions.db` });
const connections = {
  shop: defineMcpClientConnection({ url, description: "A shop.", session: "stateful" }),
};
const sessions = createDurableSessions({ connections, store });
const principal = { type: "user", issuer: "https://shop.example", id: "42" };

/** Whether this is the first attempt. */
async function beginOnce(...id) {
  const expiresAt = Date.now() + 86_400_000;
  const { ok } = await store.put(JSON.stringify(id), true, null, { owner: "calls", expiresAt });
  return ok;
}

const said = z.object({ text: z.string() });
const order = (item) =>
  createStep({
    ...{ id: item, inputSchema: said, outputSchema: said },
    async execute() {
      if (hasMark && !(await beginOnce(runId, item))) return { text: "OUTCOME_UNKNOWN" };
      const { content } = await sessions.run("chat 1", { principal }, (run) =>
        run.call("shop", "order", { item }),
      );
      return { text: content[0].text };
    },
  });
const orders = createWorkflow({ id: "orders", inputSchema: said, outputSchema: said })
  .then(order("tea"))
  .then(order("milk"))
  .commit();
const storage = new LibSQLStore({ id: "runs", url: `file:${folder}/runs.db` });
const mastra = new Mastra({ workflows: { orders }, storage, logger: false });
const workflow = mastra.getWorkflow("orders");
const { runs } = await workflow.listActiveWorkflowRuns();
const run = await workflow.createRun({ runId });
const result = runs.length > 0 ? await run.restart() : await run.start({ inputData: { text: "" } });
console.log(
  result.status,
  Object.entries(result.steps).map(([id, { output }]) => `${id}: ${output?.text}`),
);
process.exit();
