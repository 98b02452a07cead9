import { type LanguageModel, simulateReadableStream } from "ai";

/** What the model says in one turn: calls of tools, or a text that ends the run. */
export type Turn =
  | string
  | readonly {
      readonly tool: string;
      readonly input?: object;
      readonly toolCallId?: string;
    }[];

/** A call of the model, as the AI SDK made it. */
interface ModelCall {
  readonly prompt: any[];
  readonly tools?: any[] | undefined;
  readonly [option: string]: unknown;
}

/** A language model of AI SDK 6 and 7 that keeps its calls, as the mocks of `ai/test` do. */
export type ScriptedModel = Extract<LanguageModel, { readonly specificationVersion: "v3" }> & {
  readonly doGenerateCalls: ModelCall[];
  readonly doStreamCalls: ModelCall[];
};

/**
 * Creates a language model that says one turn after the other, at once or as a stream. A function gives its turn when
 * that begins. Calls of tools without an id are numbered: `call-0-0` is the first of the first turn.
 *
 * @example
 * const model = scriptedModel([{ tool: "shop__order", input: { item: "tea" } }], "Ordered.");
 * @throws {Error} when it is called more often than it has turns
 */
export function scriptedModel(...turns: (Turn | (() => Turn | Promise<Turn>))[]): ScriptedModel {
  const [doGenerateCalls, doStreamCalls]: ModelCall[][] = [[], []];
  const next = async () => {
    const number = doGenerateCalls!.length + doStreamCalls!.length - 1;
    const given = turns[number];
    if (given === undefined) throw new Error(`The model has only ${turns.length} turns.`);
    const turn = typeof given === "function" ? await given() : given;
    const unified = typeof turn === "string" ? "stop" : "tool-calls";
    return { content: contentOf(turn, number), finishReason: { unified, raw: undefined } };
  };
  return {
    specificationVersion: "v3",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    ...{ doGenerateCalls, doStreamCalls },
    async doGenerate(call: ModelCall) {
      doGenerateCalls!.push(call);
      return { ...(await next()), usage, warnings: [] };
    },
    async doStream(call: ModelCall) {
      doStreamCalls!.push(call);
      const { content, finishReason } = await next();
      const parts = content.flatMap<object>((part, position) =>
        part.type === "tool-call" ? [part] : textParts(`text-${position}`, part.text),
      );
      const finish = { type: "finish", finishReason, usage };
      const chunks = [{ type: "stream-start", warnings: [] }, ...parts, finish];
      // A model takes its time between two words.
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: 0 }) };
    },
  } as unknown as ScriptedModel;
}

/** The tool results in the model's last prompt, in order, as text. */
export function toolResults({ doGenerateCalls, doStreamCalls }: ScriptedModel): string[] {
  const prompt = [...doGenerateCalls, ...doStreamCalls].at(-1)?.prompt ?? [];
  return prompt
    .flatMap(({ role, content }) => (role === "tool" ? content : []))
    .flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []));
}

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function contentOf(turn: Turn, number: number) {
  if (typeof turn === "string") return [{ type: "text" as const, text: turn }];
  return turn.map(({ tool, input = {}, toolCallId }, position) => ({
    type: "tool-call" as const,
    toolCallId: toolCallId ?? `call-${number}-${position}`,
    toolName: tool,
    input: JSON.stringify(input),
  }));
}

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
