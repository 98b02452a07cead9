import { MockLanguageModelV4 } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that adds an item, and then says what the server has answered. */
export function addItem(item: string) {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1);
      if (last?.role === "tool") {
        const text = JSON.stringify(last.content);
        const finishReason = { unified: "stop" as const, raw: "stop" };
        return { content: [{ type: "text", text }], finishReason, usage, warnings: [] };
      }
      const call = { toolCallId: "1", toolName: "cart__add_item", input: JSON.stringify({ item }) };
      const finishReason = { unified: "tool-calls" as const, raw: "tool_use" };
      return { content: [{ type: "tool-call", ...call }], finishReason, usage, warnings: [] };
    },
  });
}
