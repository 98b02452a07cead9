/** A framework for agents, made up, with nothing of MCP. [Its leaf](./toy-leaf.ts) brings sessions to it. */

/** A tool of the framework. */
export interface ToyTool {
  readonly about: string;
  /** JSON Schema. */
  readonly input: object;
  readonly run: (input: object, callId: string) => Promise<unknown>;
}

export type ToyTools = Readonly<Record<string, ToyTool>>;

/** A conversation is a list of these, as JSON. */
export type ToyMessage =
  | { readonly by: "user" | "model"; readonly text: string }
  | {
      readonly by: "tool";
      readonly callId: string;
      readonly tool: string;
      readonly input: object;
      readonly output: unknown;
    };

/** What a model does next: it says something, and has done, or calls a tool. */
type ToyTurn = { readonly say: string } | { readonly call: string; readonly input: object };

/** The language model. */
export type ToyModel = (messages: readonly ToyMessage[], tools: ToyTools) => ToyTurn;

/**
 * Runs an agent.
 *
 * @param pauses whether it stops after a tool with this output
 * @returns the conversation
 */
export async function runToyAgent(
  model: ToyModel,
  tools: ToyTools,
  messages: readonly ToyMessage[],
  pauses: (output: unknown) => boolean = () => false,
): Promise<ToyMessage[]> {
  const all = [...messages];
  for (;;) {
    const turn = model(all, tools);
    if ("say" in turn) return [...all, { by: "model", text: turn.say }];
    const callId = crypto.randomUUID();
    const { call: tool, input } = turn;
    const output = await tools[tool]!.run(input, callId);
    all.push({ by: "tool", callId, tool, input, output });
    if (pauses(output)) return all;
  }
}
