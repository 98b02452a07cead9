import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";

/** What the model says in one turn: calls of tools, or a text that ends the run. */
export type Turn = string | { readonly tool: string; readonly input?: object }[];

/** A language model that says one turn after the other, at once or as a stream, and keeps what it was sent. */
export function scriptedModel(...turns: Turn[]) {
  const said = turns.map((turn, index) => ({
    content:
      typeof turn === "string"
        ? [{ type: "text" as const, text: turn }]
        : turn.map(({ tool, input = {} }, position) => ({
            type: "tool-call" as const,
            toolCallId: `call-${index}-${position}`,
            toolName: tool,
            input: JSON.stringify(input),
          })),
    finishReason: {
      unified: typeof turn === "string" ? ("stop" as const) : ("tool-calls" as const),
      raw: undefined,
    },
    usage,
    warnings: [],
  }));
  return new MockLanguageModelV4({
    doGenerate: said,
    doStream: said.map(({ content, finishReason }) => ({
      stream: convertArrayToReadableStream<StreamPart>([
        { type: "stream-start", warnings: [] },
        ...content.flatMap<StreamPart>((part, position) =>
          part.type === "tool-call" ? [part] : textParts(`text-${position}`, part.text),
        ),
        { type: "finish", finishReason, usage },
      ]),
    })),
  });
}

type StreamResult = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
/** A part of a language model's stream. */
type StreamPart = StreamResult["stream"] extends ReadableStream<infer PART> ? PART : never;

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** A text as a stream has it, a word at a time. */
function textParts(id: string, text: string): StreamPart[] {
  return [
    { type: "text-start", id },
    ...text.split(/(?<= )/).map((delta) => ({ type: "text-delta" as const, id, delta })),
    { type: "text-end", id },
  ];
}

/** What the model was sent as the results of its calls, in order, as text. */
export function toolResults(model: MockLanguageModelV4): string[] {
  const prompt = [...model.doGenerateCalls, ...model.doStreamCalls].at(-1)?.prompt ?? [];
  return prompt
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []));
}

function textOf(output: any): string {
  if (output.type !== "content") return `${output.type}: ${output.value}`;
  return output.value.map((part: any) => part.text).join("\n");
}
