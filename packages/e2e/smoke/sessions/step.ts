import { auth, createMCPClient, type MCPClientConfig, type OAuthClientProvider } from "@ai-sdk/mcp";
import {
  type ClientOpener,
  createDurableSessions,
  defineMcpClientConnection,
} from "@durable-mcp/sessions";
import { openTelemetry } from "@durable-mcp/sessions/opentelemetry";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [url = "", item = ""] = process.argv.slice(2);
const clients: ClientOpener = {
  createClient: async ({ signal, ...config }) =>
    await createMCPClient({ ...config, initializationOptions: { signal } } as MCPClientConfig),
  renewLogin: async (provider, of) =>
    (await auth(provider as OAuthClientProvider, of)) === "AUTHORIZED",
};
const store = createSqliteStore({ path: "sessions.db" });
const sessions = createDurableSessions({
  connections: {
    cart: defineMcpClientConnection({ url, description: "A cart.", session: "stateful" }, clients),
  },
  store,
  telemetry: openTelemetry(),
});
const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
const answer = await sessions.run("chat 1", { principal }, (run) =>
  run.call("cart", "add_item", { item }),
);
console.log(JSON.stringify(answer));
await store.close();
