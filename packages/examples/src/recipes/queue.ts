import { createDurableAgent, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createRedisStore } from "@durable-mcp/stores/redis";
import type { LanguageModel } from "ai";
import { Worker } from "bullmq";
import { Redis } from "ioredis";

export interface Turn {
  readonly chat: string;
  readonly user: string;
  readonly prompt: string;
}

/** Works off turns of chats. Start it in any number of processes. */
export function startWorker(model: LanguageModel, url = process.env["REDIS_URL"]!) {
  // A command without an answer is neither sent again nor kept for ever.
  const client = new Redis(url, { autoResendUnfulfilledCommands: false, commandTimeout: 10_000 });
  client.on("error", (error) => console.error("Redis:", error.message));
  const shop = defineMcpClientConnection({
    url: process.env["SHOP_URL"]!,
    description: "A shop with a cart.",
    session: "stateful",
  });
  const store = createRedisStore({ client });
  const agent = createDurableAgent({ connections: { shop }, store, model });

  const takeTurn = async ({ chat, user, prompt }: Turn) => {
    const principal = { type: "user", issuer: "https://idp.example", id: user } as const;
    const { text } = await agent.generate({ prompt, options: { sessionId: chat, principal } });
    return text;
  };
  // A turn whose process died fails: begun again, it would make its calls a second time.
  const worker = new Worker<Turn, string>("turns", async ({ data }) => await takeTurn(data), {
    connection: { url, maxRetriesPerRequest: null },
    maxStalledCount: 0,
  });
  worker.on("closed", () => client.disconnect());
  return worker;
}
