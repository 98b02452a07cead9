import { createDurableSessions } from "@durable-mcp/ai-sdk";
import { createD1Store, type D1Database } from "@durable-mcp/stores/d1";
import { type ChatRequest, connectionsTo, serveChat } from "./order-chat.ts";

interface Env {
  readonly DB: D1Database;
  readonly SHOP_URL: string;
}

export default {
  async fetch(request: Request, { DB, SHOP_URL }: Env): Promise<Response> {
    const store = createD1Store({ database: DB });
    const sessions = createDurableSessions({ connections: connectionsTo(SHOP_URL), store });
    return Response.json(await serveChat(sessions, (await request.json()) as ChatRequest));
  },
};
