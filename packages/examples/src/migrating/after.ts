/**
 * The same step after it: `before.ts` on durable sessions.
 *
 *     node after.ts <library> <URL of the MCP server> <tool> <input> <file of the store>
 */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { loadSessionTools } from "@durable-mcp/langchain";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [library = "", url = "", tool = "", input = "{}", file = ""] = process.argv.slice(2);
const args = JSON.parse(input) as Record<string, unknown>;
const principal = { type: "user", issuer: "https://shop.example", id: "42" } as const;

const store = createSqliteStore({ path: file });
const sessions = createDurableSessions({
  connections: {
    cart: defineMcpClientConnection({
      url,
      description: "The user's shopping cart.",
      session: "stateful",
      toolNames: { prefix: false },
    }),
  },
  store,
});

const result = await sessions.run("chat 1", { principal }, async (run) => {
  if (library !== "@langchain/mcp-adapters") {
    return await (
      await run.tools()
    )[tool]!.execute!(args, { toolCallId: "1", messages: [], context: {} });
  }
  const loaded = await loadSessionTools();
  return await loaded.find(({ name }) => name === tool)!.invoke(args);
});
await sessions.shutdown();
await store.close();
console.log(JSON.stringify(result));
