import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { generateText, type LanguageModel, stepCountIs } from "ai";

const sessions = createDurableSessions({
  connections: {
    shop: defineMcpClientConnection({
      url: process.env["SHOP_URL"]!,
      description: "A shop with a cart.",
      session: "stateful",
    }),
  },
  store: createSqliteStore({ path: process.env["SESSIONS_DB"]! }),
});

/** A turn of a chat. `user` is who your login says. */
export async function ask(model: LanguageModel, chat: string, user: string, prompt: string) {
  const principal = { type: "user", issuer: "https://idp.example", id: user } as const;
  return await sessions.run(chat, { principal }, async (run) => {
    const tools = await run.tools();
    const { text } = await generateText({ model, prompt, tools, stopWhen: stepCountIs(10) });
    return text;
  });
}

/** The same session, called by a plain function: no model. */
export async function addToCart(chat: string, user: string, item: string) {
  const principal = { type: "user", issuer: "https://idp.example", id: user } as const;
  return await sessions.run(chat, { principal }, (run) => run.call("shop", "add_item", { item }));
}
