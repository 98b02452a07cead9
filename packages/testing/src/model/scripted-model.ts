import type { LanguageModel } from "ai";

/** What the model says in one turn: calls of tools, or a text that ends the run. */
export type Turn = string | readonly { readonly tool: string; readonly input?: object }[];

type ModelObject = Exclude<LanguageModel, string>;

/** A language model of AI SDK 6 and 7, and what it was sent. */
export type ScriptedModel = ModelObject & {
  /** The prompts of its calls, in order. */
  readonly prompts: readonly any[];
  /** What it was sent as the results of its calls in the last prompt, in order, as text. */
  readonly toolResults: () => string[];
};

/**
 * A language model that says one turn after the other, at once or as a stream. Its calls are numbered: `call-0-0` is the
 * first of the first turn.
 *
 * @example
 * const model = scriptedModel([{ tool: "shop__order", input: { item: "tea" } }], "Ordered.");
 * @throws when it is asked for more than it has
 */
export function scriptedModel(...turns: readonly Turn[]): ScriptedModel {
  const prompts: any[] = [];
  const next = ({ prompt }: { prompt: unknown }) => {
    const number = prompts.push(prompt) - 1;
    const turn = turns[number];
    if (turn === undefined) throw new Error(`The model has only ${turns.length} turns.`);
    return { turn, content: contentOf(turn, number), finishReason: finishReasonOf(turn) };
  };
  return {
    specificationVersion: "v3",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    prompts,
    toolResults: () =>
      (prompts.at(-1) as Message[])
        .flatMap(({ role, content }) => (role === "tool" ? content : []))
        .flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : [])),
    async doGenerate(options: { prompt: unknown }) {
      const { content, finishReason } = next(options);
      return { content, finishReason, usage, warnings: [] };
    },
    async doStream(options: { prompt: unknown }) {
      const { content, finishReason } = next(options);
      const parts = content.flatMap<object>((part, position) =>
        part.type === "tool-call" ? [part] : textParts(`text-${position}`, part.text),
      );
      const finish = { type: "finish", finishReason, usage };
      const chunks = [{ type: "stream-start", warnings: [] }, ...parts, finish];
      const stream = new ReadableStream<object>({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk);
          controller.close();
        },
      });
      return { stream };
    },
  } as unknown as ScriptedModel;
}

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

interface Message {
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly output: any }[];
}

function contentOf(turn: Turn, number: number) {
  if (typeof turn === "string") return [{ type: "text" as const, text: turn }];
  return turn.map(({ tool, input = {} }, position) => ({
    type: "tool-call" as const,
    toolCallId: `call-${number}-${position}`,
    toolName: tool,
    input: JSON.stringify(input),
  }));
}

const finishReasonOf = (turn: Turn) => ({
  unified: typeof turn === "string" ? "stop" : "tool-calls",
  raw: undefined,
});

/** A text as a stream has it, a word at a time. */
function textParts(id: string, text: string): object[] {
  return [
    { type: "text-start", id },
    ...text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id, delta })),
    { type: "text-end", id },
  ];
}

function textOf(output: any): string {
  if (output.type !== "content") return `${output.type}: ${output.value}`;
  return output.value.map((part: any) => part.text).join("\n");
}
