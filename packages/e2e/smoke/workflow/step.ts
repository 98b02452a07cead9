import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { openDurableConnections, type SessionsRequest } from "@durable-mcp/workflow";
import { createConnectionSteps } from "@durable-mcp/workflow/steps";

const [url = ""] = process.argv.slice(2);
const store = createSqliteStore({ path: "sessions.db" });
const steps = createConnectionSteps({
  connections: {
    cart: defineMcpClientConnection({ url, description: "A cart.", session: "stateful" }),
  },
  store,
});
const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
const request: SessionsRequest = {
  kind: "open",
  connections: ["cart"],
  principal,
  sessionId: "chat 1",
  slots: {},
  onUnavailable: "throw",
};
// The other step, of calls, runs in the engine alone.
const { cart } = await steps.sessions(request);
console.log(`session: ${cart?.hasSession}, replaced: ${cart?.isReplacement}`);
console.log(cart?.tools.map(({ name }) => name).join(", "), openDurableConnections.name);
await store.close();
