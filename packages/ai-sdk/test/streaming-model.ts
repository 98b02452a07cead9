import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

const finish = (unified: "stop" | "tool-calls") =>
  ({ type: "finish", finishReason: { unified, raw: undefined }, usage }) as const;

/** A model that calls a tool and then says a text, in streams; `hold` is awaited before the text. */
export function streamingModel({
  tool = "notes__list_notes",
  input = {},
  hold = () => Promise.resolve(),
}: { tool?: string; input?: object; hold?: () => Promise<void> } = {}) {
  let turn = 0;
  return new MockLanguageModelV4({
    doStream: async () => {
      turn += 1;
      if (turn === 1) {
        const call = { toolCallId: "call-1", toolName: tool, input: JSON.stringify(input) };
        return {
          stream: simulateReadableStream({
            chunks: [{ type: "tool-call", ...call } as const, finish("tool-calls")],
          }),
        };
      }
      await hold();
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "text-start", id: "1" } as const,
            { type: "text-delta", id: "1", delta: "done" } as const,
            { type: "text-end", id: "1" } as const,
            finish("stop"),
          ],
        }),
      };
    },
  });
}
