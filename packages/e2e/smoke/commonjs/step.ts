import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [url = "", item = ""] = process.argv.slice(2);
const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;

async function step(): Promise<void> {
  const cart = defineMcpClientConnection({ url, description: "A cart.", session: "stateful" });
  const store = createSqliteStore({ path: "sessions.db" });
  const sessions = createDurableSessions({ connections: { cart }, store });
  const answer = await sessions.run("chat 1", { principal }, (run) =>
    run.call("cart", "add_item", { item }),
  );
  console.log(JSON.stringify(answer), typeof require);
  await store.close();
}

void step();
