import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { CallRequest } from "@durable-mcp/workflow";
import { createConnectionSteps } from "@durable-mcp/workflow/steps";

const [url = "", item = ""] = process.argv.slice(2);
const store = createSqliteStore({ path: "sessions.db" });
const steps = createConnectionSteps({
  connections: {
    cart: defineMcpClientConnection({ url, description: "A cart.", session: "stateful" }),
  },
  store,
});
const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
const call: CallRequest = { connection: "cart", tool: "add_item", input: { item }, principal };
console.log(JSON.stringify(await steps.call(call)));
await store.close();
