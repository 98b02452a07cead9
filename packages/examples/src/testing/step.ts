import { createDurableAgent } from "@durable-mcp/ai-sdk";
import type { StepContext } from "@durable-mcp/testing";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import type { ModelMessage } from "ai";
import { connectShop, type Places, user } from "./shop.ts";

export interface Chat extends Places {
  readonly turns: readonly Turn[];
  readonly messages?: readonly ModelMessage[];
}

export default async function step(chat: Chat, context: StepContext) {
  const { turns, messages = [{ role: "user", content: "Order tea." }] } = chat;
  const { sessions, close } = connectShop(chat, context);
  const agent = createDurableAgent({ sessions, model: scriptedModel(...turns) });
  const options = { sessionId: "chat 1", principal: user };
  const { text, responseMessages } = await agent.generate({ messages: [...messages], options });
  await close();
  return { text, messages: [...messages, ...responseMessages] };
}
