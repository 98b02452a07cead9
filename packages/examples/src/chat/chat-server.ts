/**
 * One process of the chat. It keeps nothing: the sessions are in the store.
 *
 *     CHAT_SECRET=… node chat-server.ts <name> <port> <url of the cart> <url of deliveries> <place of the store>
 */
import { readdir, readFile } from "node:fs/promises";
import { createDurableAgent, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { serve } from "@hono/node-server";
import { openStore } from "../programs/open-store.ts";
import { createShopModel } from "./shop-model.ts";
import { createChatApp } from "./chat-app.ts";

const [name = "", port = "", cartUrl = "", deliveryUrl = "", place = ""] = process.argv.slice(2);

const { store } = await openStore(place);
const agent = createDurableAgent({
  connections: {
    shop: defineMcpClientConnection({
      url: cartUrl,
      description: "The user's shopping cart.",
      session: "stateful",
      preliminaryResults: true,
    }),
    // A server without sessions, whose tools ask the user.
    delivery: defineMcpClientConnection({
      url: deliveryUrl,
      description: "Orders that are delivered, and the tea club.",
      input: "pause",
    }),
  },
  store,
  agent: "chat",
  // The page keeps the conversation: it cannot write that something was approved.
  experimental_toolApprovalSecret: process.env["CHAT_SECRET"] ?? "",
  model: process.env["DURABLE_MCP_MODEL"] || createShopModel(),
  instructions: "Do what the user asks with the tools you have, then answer in one sentence.",
});

const app = createChatApp({
  agent,
  secret: process.env["CHAT_SECRET"] ?? "",
  server: name,
});
const folder = new URL(".", import.meta.url);
const read = (file: string) => readFile(new URL(file, folder), "utf8");
app.get("/", async (context) => context.html(await read("chat-page.html")));
const scripts = (await readdir(folder)).filter((file) => file.endsWith(".js"));
for (const script of scripts) {
  app.get(`/${script}`, async (context) =>
    context.body(await read(script), 200, { "content-type": "text/javascript" }),
  );
}
serve({ fetch: app.fetch, port: Number(port), hostname: "127.0.0.1" });
