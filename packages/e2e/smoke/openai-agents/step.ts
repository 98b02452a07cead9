import {
  bindAgentsTools,
  createDurableSessions,
  defineMcpClientConnection,
} from "@durable-mcp/openai-agents";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { Agent, run as runAgent } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";

const [url = "", item = ""] = process.argv.slice(2);
const store = createSqliteStore({ path: "sessions.db" });
const sessions = createDurableSessions({
  connections: {
    cart: defineMcpClientConnection({ url, description: "A cart.", session: "stateful" }),
  },
  store,
});
const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
const call = functionCall("cart__add_item", { item }, { callId: item });
const model = new ScriptedModel([[call], [assistantMessage("Done.")]]);
const history = await sessions.run("chat 1", { principal }, async (run) => {
  const { tools, save } = await bindAgentsTools(run);
  const result = await runAgent(new Agent({ name: "shop", model, tools }), "Go.");
  await save(result);
  return result.history;
});
console.log(JSON.stringify(history));
await store.close();
