import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import type { Turn } from "../steps/turn.ts";

/**
 * A LangChain chat model that costs nothing and always does the same: it makes the calls of a turn,
 * one at a time, and answers from the results that it finds in its messages.
 */
export class ScriptedChatModel extends BaseChatModel {
  readonly #turn: Turn;
  #tools: readonly string[] = [];

  constructor(turn: Turn) {
    super({});
    this.#turn = turn;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(tools: unknown[]): ScriptedChatModel {
    const bound = new ScriptedChatModel(this.#turn);
    bound.#tools = tools.map((tool) => (tool as { name: string }).name);
    return bound;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const { calls, answer } = this.#turn;
    const results = toolResults(messages);
    const call = calls[results.length];
    const message =
      call === undefined
        ? new AIMessage(answer(results))
        : new AIMessage({
            content: "",
            tool_calls: [
              { id: crypto.randomUUID(), name: this.#find(call.tool), args: { ...call.input } },
            ],
          });
    return { generations: [{ text: message.text, message }] };
  }

  /** The agent's name of a server's tool: durable-mcp puts the connection's name in front. */
  #find(tool: string): string {
    const found = this.#tools.find((name) => name.endsWith(`__${tool}`));
    if (found === undefined) throw new Error(`The agent has no tool ${tool}.`);
    return found;
  }
}

/** The text of each tool result since the user last spoke. */
function toolResults(messages: BaseMessage[]): string[] {
  const start = messages.findLastIndex(({ type }) => type === "human");
  return messages
    .slice(start)
    .filter(({ type }) => type === "tool")
    .map(({ text }) => text);
}
