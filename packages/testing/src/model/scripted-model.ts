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

/** What a turn may depend on: a call of the model, and what its prompt ends with. */
export interface TurnOptions extends ModelCall {
  /** The user's last message, as text. */
  readonly said: string;
  /** The results of tools since then, in order, as text. */
  readonly results: readonly string[];
}

/** Gives a turn, in a while if it likes: a model that thinks waits before. */
export type GiveTurn = (options: TurnOptions) => Turn | Promise<Turn>;

/** A language model of AI SDK 6 and 7 that keeps its calls, as the mocks of `ai/test` do. */
export type ScriptedModel = Extract<LanguageModel, { readonly specificationVersion: "v3" }> & {
  readonly doGenerateCalls: ModelCall[];
  readonly doStreamCalls: ModelCall[];
};

/**
 * Creates a language model that says one turn after the other, at once or as a stream. A function gives its turn when
 * that begins. One function and nothing else gives all turns, in a server of any number of processes for example.
 * Calls of tools without an id are numbered: `call-0-0` is the first of the first turn. With one function the first
 * number is the length of the prompt.
 *
 * @example
 * const model = scriptedModel([{ tool: "shop__order", input: { item: "tea" } }], "Ordered.");
 * const forChats = scriptedModel(({ said, results }) =>
 *   results.length > 0 ? results.join(" ") : [{ tool: "shop__order", input: { item: said } }],
 * );
 * @throws {Error} when it is called more often than it has turns
 */
export function scriptedModel(...turns: (Turn | GiveTurn)[]): ScriptedModel {
  const [doGenerateCalls, doStreamCalls]: ModelCall[][] = [[], []];
  const [only] = turns;
  const always = turns.length === 1 && typeof only === "function" ? only : undefined;
  const next = async (call: ModelCall) => {
    const count = doGenerateCalls!.length + doStreamCalls!.length - 1;
    const number = always ? call.prompt.length : count;
    const given = always ?? turns[count];
    if (given === undefined) throw new Error(`The model has only ${turns.length} turns.`);
    const turn = typeof given === "function" ? await given(turnOptions(call)) : given;
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
      return { ...(await next(call)), usage, warnings: [] };
    },
    async doStream(call: ModelCall) {
      doStreamCalls!.push(call);
      const { content, finishReason } = await next(call);
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
  return outputsIn([...doGenerateCalls, ...doStreamCalls].at(-1)?.prompt ?? []).map(textOf);
}

function turnOptions(call: ModelCall): TurnOptions {
  const at = call.prompt.findLastIndex(({ role }) => role === "user");
  const parts: any[] = call.prompt[at]?.content ?? [];
  const said = parts.map(({ text = "" }) => text).join(" ");
  return { ...call, said, results: outputsIn(call.prompt.slice(at + 1)).map(plainTextOf) };
}

function outputsIn(prompt: any[]): any[] {
  return prompt
    .flatMap(({ role, content }) => (role === "tool" ? content : []))
    .flatMap((part) => (part.type === "tool-result" ? [part.output] : []));
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

function plainTextOf(output: any): string {
  const { value = output.reason } = output;
  if (output.type === "content") return textOf(output);
  return typeof value === "string" ? value : JSON.stringify(value);
}
