/** A process that answers one request of a chat, and is killed somewhere. */
import {
  createChatRoute,
  createDurableAgent,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import type { StepContext } from "@durable-mcp/testing";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";

/** So long that a slow process does not write in between that it lives: its writes are counted. */
export const aliveMs = 120_000;

export interface ChatRequest {
  readonly place: StorePlace;
  readonly url: string;
  /** What the model notes. */
  readonly note: string;
  /** Of a POST; without one it is a GET. */
  readonly body?: object | undefined;
}

export interface ChatResponse {
  readonly status: number;
  readonly text: string;
}

export default async function serve(
  { place, url, note, body }: ChatRequest,
  { now, watch }: StepContext,
): Promise<ChatResponse> {
  const { store, close } = await openStoreAt(place, { now });
  const turn = () => {
    const { role } = model.doStreamCalls.at(-1)!.prompt.at(-1);
    return role === "user"
      ? [{ tool: "notes__add_note", input: { text: note } }]
      : "Noted, or not.";
  };
  const model = scriptedModel(turn, turn, turn);
  const agent = createDurableAgent({
    connections: {
      notes: defineMcpClientConnection({ url, description: "Notes.", session: "stateful" }),
    },
    ...{ store: watch(store), model, now, onEvent: () => undefined },
  });
  const { GET, POST } = createChatRoute({
    ...{ agent, aliveMs },
    principal: () => ({ type: "user", issuer: "https://idp.test", id: "alice" }),
  });
  const chat = "https://app.example/api/chat/chat-1";
  const headers = { "content-type": "application/json" };
  const response = await (body
    ? POST(new Request(chat, { method: "POST", headers, body: JSON.stringify(body) }))
    : GET(new Request(chat)));
  const text = await response.text();
  await agent.sessions.shutdown();
  await close?.();
  return { status: response.status, text };
}
