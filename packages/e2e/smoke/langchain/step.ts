import {
  createDurableSessions,
  defineMcpClientConnection,
  loadSessionTools,
} from "@durable-mcp/langchain";
import { sessionToolsMiddleware } from "@durable-mcp/langchain/middleware";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [url = "", item = ""] = process.argv.slice(2);
const store = createSqliteStore({ path: "sessions.db" });
const sessions = createDurableSessions({
  connections: {
    cart: defineMcpClientConnection({ url, description: "A cart.", session: "stateful" }),
  },
  store,
});
const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
const answer = await sessions.run("chat 1", { principal }, async () => {
  const tools = await loadSessionTools();
  return await tools.find(({ name }) => name === "cart__add_item")?.invoke({ item });
});
console.log(JSON.stringify(answer), sessionToolsMiddleware().name);
await store.close();
