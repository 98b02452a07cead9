import { type ModelMessage, ToolLoopAgent, type ToolSet } from "ai";
import { createScriptedModel } from "./scripted-model.ts";
import type { ToolCall, Turn } from "./turn.ts";

export interface TurnTaken {
  /** The conversation, this turn included. */
  messages: ModelMessage[];
  calls: ToolCall[];
  text: string;
}

/**
 * An AI SDK agent takes one turn of a conversation. The model is scripted unless the environment
 * names one, as in `DURABLE_MCP_MODEL=anthropic/claude-sonnet-4.5` with an `AI_GATEWAY_API_KEY`.
 */
export async function takeTurn(
  turn: Turn,
  { messages, tools }: { messages: ModelMessage[]; tools: ToolSet },
): Promise<TurnTaken> {
  const agent = new ToolLoopAgent({
    model: process.env["DURABLE_MCP_MODEL"] || createScriptedModel(turn),
    instructions: "Do what the user asks with the tools you have, then answer in one sentence.",
    tools,
  });
  const conversation: ModelMessage[] = [...messages, { role: "user", content: turn.prompt }];
  const { text, toolCalls, responseMessages } = await agent.generate({ messages: conversation });
  return {
    messages: [...conversation, ...responseMessages],
    calls: toolCalls.map(({ toolName, input }) => ({
      tool: toolName.replace(/^.*__/, ""),
      input: input as object,
    })),
    text,
  };
}
