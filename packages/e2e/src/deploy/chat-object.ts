import { createDurableSessions, type DurableSessions } from "@durable-mcp/ai-sdk";
import {
  createDurableObjectStore,
  type DurableObjectStorage,
} from "@durable-mcp/stores/durable-object";
import { type ChatRequest, connectionsTo, serveChat } from "./order-chat.ts";

interface Context {
  readonly storage: DurableObjectStorage;
  blockConcurrencyWhile<T>(run: () => Promise<T>): Promise<T>;
}
interface Env {
  readonly CHATS: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
  readonly SHOP_URL: string;
}

export class Chat {
  readonly #sessions: DurableSessions;

  constructor(context: Context, { SHOP_URL }: Env) {
    const store = createDurableObjectStore({ storage: context.storage });
    void context.blockConcurrencyWhile(store.createTables);
    this.#sessions = createDurableSessions({ connections: connectionsTo(SHOP_URL), store });
  }

  async fetch(request: Request): Promise<Response> {
    return Response.json(await serveChat(this.#sessions, (await request.json()) as ChatRequest));
  }
}

export default {
  async fetch(request: Request, { CHATS }: Env): Promise<Response> {
    const chatId = new URL(request.url).pathname;
    return await CHATS.getByName(chatId).fetch(request);
  },
};
