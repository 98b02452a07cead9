// The same on durable sessions: Mastra's client on the fetch of a connection.
import {
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { MCPClient } from "@mastra/mcp";

const [, url, tool, input, file] = process.argv.slice(2);
const store = createSqliteStore({ path: file });
const sessions = createDurableSessions({
  connections: {
    cart: defineMcpClientConnection({ url, description: "The cart.", session: "stateful" }),
  },
  store,
});
const principal = { type: "user", issuer: "https://shop.example", id: "42" };
const result = await sessions.run("chat 1", { principal }, async () => {
  const fetch = currentConnections().fetch("cart");
  const client = new MCPClient({ servers: { cart: { url: new URL(url), fetch } } });
  const tools = await client.listTools();
  const said = await tools[`cart_${tool}`].execute(JSON.parse(input), {});
  await client.disconnect();
  return said;
});
await sessions.shutdown();
await store.close();
console.log(JSON.stringify(result));
process.exit();
