import { createDurableAgent, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import type { LanguageModel } from "ai";
import { Hono } from "hono";

export interface Settings {
  readonly shopUrl: string;
  readonly store: SessionStore;
  readonly model: LanguageModel;
}

/** `settings` are made for each request: a Worker has its database only there. */
export function createApp<ENV extends object>(settings: (env: ENV) => Settings) {
  const app = new Hono<{ Bindings: ENV }>();
  app.post("/chats/:chat", async (context) => {
    const { shopUrl: url, store, model } = settings(context.env);
    const shop = defineMcpClientConnection({
      url,
      description: "A shop with a cart.",
      session: "stateful",
    });
    const agent = createDurableAgent({ connections: { shop }, store, model });
    const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const; // your login says who
    const { prompt } = await context.req.json<{ prompt: string }>();
    const sessionId = context.req.param("chat");
    const { text } = await agent.generate({ prompt, options: { sessionId, principal } });
    return context.json({ text });
  });
  return app;
}
