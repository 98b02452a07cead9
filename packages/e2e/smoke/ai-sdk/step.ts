import {
  type ConnectionEvent,
  createDurableSessions,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { openTelemetry } from "@durable-mcp/ai-sdk/opentelemetry";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { generateText, stepCountIs } from "ai";
import { addItem } from "./model.js";

const [url = "", item = ""] = process.argv.slice(2);
// Options that may be undefined, as the settings of an application are.
const setting = (name: string): string | undefined => process.env[name];
const token = setting("CART_TOKEN");
const signal: AbortSignal | undefined = undefined;
const onEvent = setting("DEBUG")
  ? { every: (event: ConnectionEvent) => console.error(event) }
  : undefined;

const cart = defineMcpClientConnection({
  url,
  description: setting("CART_DESCRIPTION") ?? "A shopping cart.",
  session: "stateful",
  headers: token === undefined ? undefined : { "x-cart": token },
  required: true,
});
const store = createSqliteStore({ path: "sessions.db" });
const sessions = createDurableSessions({
  connections: { cart },
  store,
  onEvent,
  telemetry: openTelemetry(),
});

const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
const { text } = await sessions.run("chat 1", { principal, abortSignal: signal }, async (run) =>
  generateText({
    model: addItem(item),
    tools: await run.tools(),
    prompt: "Go on.",
    stopWhen: stepCountIs(3),
  }),
);
console.log(text);
const kept = (await sessions.list({ principal, sessionId: "chat 1" })).sessions;
if (kept.length !== 1) throw new Error("The session was not stored.");
await store.close();
