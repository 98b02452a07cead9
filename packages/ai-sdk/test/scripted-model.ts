import { MockLanguageModelV4 } from "ai/test";

/** What the model says in one turn: calls of tools, or a text that ends the run. */
export type Turn = string | { readonly tool: string; readonly input?: object }[];

/** A language model that says one turn after the other and keeps what it was sent. */
export function scriptedModel(...turns: Turn[]) {
  return new MockLanguageModelV4({
    doGenerate: turns.map((turn, index) => ({
      content:
        typeof turn === "string"
          ? [{ type: "text", text: turn }]
          : turn.map(({ tool, input = {} }, position) => ({
              type: "tool-call",
              toolCallId: `call-${index}-${position}`,
              toolName: tool,
              input: JSON.stringify(input),
            })),
      finishReason: {
        unified: typeof turn === "string" ? "stop" : "tool-calls",
        raw: undefined,
      },
      usage: {
        inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 0, text: 0, reasoning: 0 },
      },
      warnings: [],
    })),
  });
}

/** What the model was sent as the results of its calls, in order, as text. */
export function toolResults(model: MockLanguageModelV4): string[] {
  const prompt = model.doGenerateCalls.at(-1)?.prompt ?? [];
  return prompt
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []));
}

function textOf(output: any): string {
  if (output.type !== "content") return `${output.type}: ${output.value}`;
  return output.value.map((part: any) => part.text).join("\n");
}
