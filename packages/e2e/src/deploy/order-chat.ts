/** A chat with a shop that asks, as each Worker of the tests has it. */
import {
  defineMcpClientConnection,
  type DurableSessions,
  stopWhenWaiting,
} from "@durable-mcp/ai-sdk";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { generateText, type ModelMessage, stepCountIs } from "ai";
import { answer, principal } from "../waiting/waiting-shop.ts";

/** A step of a chat, with the messages so far; without them, what a person answers. */
export interface ChatRequest {
  readonly chatId: string;
  readonly messages?: readonly ModelMessage[];
}

export const connectionsTo = (url: string) => ({
  shop: defineMcpClientConnection({ url, description: "A shop.", waiting: true }),
});

/** Does what a request asks for: gives the messages after the step, or the states of the calls answered. */
export async function serveChat(
  sessions: DurableSessions,
  { chatId, messages }: ChatRequest,
): Promise<readonly ModelMessage[] | readonly string[]> {
  return messages === undefined
    ? await answerAll(sessions, chatId)
    : await takeStep(sessions, chatId, messages);
}

async function takeStep(
  sessions: DurableSessions,
  chatId: string,
  before: readonly ModelMessage[],
): Promise<ModelMessage[]> {
  const order = [{ tool: "shop__place_order", input: { item: "tea" } }];
  // It orders when it is asked to, and speaks when that is done.
  const model = scriptedModel(before.length === 1 ? order : "It is ordered.");
  return await sessions.run(chatId, { principal }, async (run) => {
    const all = await run.tools();
    const { messages, tools, goesOn } = await run.waiting.resume([...before], { tools: all });
    if (!goesOn) return messages;
    const stop = stopWhenWaiting({ stopWhen: stepCountIs(10) });
    const { responseMessages } = await generateText({ model, tools, messages, ...stop });
    return [...messages, ...responseMessages];
  });
}

/** Answers what waits, to the last question. */
async function answerAll(sessions: DurableSessions, chatId: string): Promise<string[]> {
  const states: string[] = [];
  for (const entry of await sessions.waiting(chatId, { principal })) {
    if (entry.type !== "question") continue;
    let call: WaitingCall = entry;
    while (call.state === "waiting") call = await answer(sessions, chatId, call);
    states.push(call.state);
  }
  return states;
}
