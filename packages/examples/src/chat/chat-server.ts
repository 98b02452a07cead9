/**
 * One process of the chat. It keeps nothing: the sessions are in the store.
 *
 *     CHAT_SECRET=… node chat-server.ts <name> <port> <url of the cart> <place of the store>
 */
import { readFile } from "node:fs/promises";
import { createDurableAgent, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { serve } from "@hono/node-server";
import { openStore } from "../programs/open-store.ts";
import { createCartModel } from "./cart-model.ts";
import { createChatApp } from "./chat-app.ts";

const [name = "", port = "", cartUrl = "", place = ""] = process.argv.slice(2);

const { store } = await openStore(place);
const agent = createDurableAgent({
  connections: {
    shop: defineMcpClientConnection({
      url: cartUrl,
      description: "The user's shopping cart.",
      session: "stateful",
      preliminaryResults: true,
    }),
  },
  store,
  agent: "chat",
  model: process.env["DURABLE_MCP_MODEL"] || createCartModel(),
  instructions: "Do what the user asks with the tools you have, then answer in one sentence.",
});

const app = createChatApp({
  agent,
  secret: process.env["CHAT_SECRET"] ?? "",
  server: name,
});
const page = (file: string) => readFile(new URL(file, import.meta.url), "utf8");
app.get("/", async (context) => context.html(await page("chat-page.html")));
app.get("/chat-page.js", async (context) =>
  context.body(await page("chat-page.js"), 200, { "content-type": "text/javascript" }),
);
serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" });
