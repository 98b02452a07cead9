import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createOAuth } from "@durable-mcp/oauth";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [url = "", item = ""] = process.argv.slice(2);
const store = createSqliteStore({ path: "sessions.db" });
const oauth = createOAuth({
  store,
  keys: { current: Buffer.alloc(32, 7).toString("base64") },
  redirectUrl: "http://localhost:3000/oauth/callback",
  allowPrivateAddresses: true,
});
const cart = defineMcpClientConnection({
  ...{ url, description: "A cart.", session: "stateful" },
  auth: oauth,
});
const sessions = createDurableSessions({ connections: { cart }, store });
const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
const answer = await sessions.run("chat 1", { principal }, (run) =>
  run.call("cart", "add_item", { item }),
);
console.log(JSON.stringify(answer));
await store.close();
