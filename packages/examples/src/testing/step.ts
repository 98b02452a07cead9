import { createDurableAgent } from "@durable-mcp/ai-sdk";
import type { StepContext } from "@durable-mcp/testing";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import type { ModelMessage } from "ai";
import { connectShop, use } from "./shop.ts";

export interface Chat {
  readonly url: string;
  readonly path: string;
  readonly asks?: boolean;
  readonly turns: readonly Turn[];
  readonly messages?: readonly ModelMessage[];
}

/** A step of the agent. Gives its conversation. */
export default async function step(
  { turns, messages = [{ role: "user", content: "Order tea." }], ...chat }: Chat,
  context: StepContext,
): Promise<{ text: string; messages: ModelMessage[] }> {
  const { sessions, close } = connectShop(chat, context);
  const agent = createDurableAgent({ sessions, model: scriptedModel(...turns) });
  const options = { sessionId: "chat 1", ...use };
  const { text, responseMessages } = await agent.generate({ messages: [...messages], options });
  await close();
  return { text, messages: [...messages, ...responseMessages] };
}
