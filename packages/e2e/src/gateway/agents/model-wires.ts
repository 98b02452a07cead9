/** The wires of a scripted model: of OpenAI, Gemini and Anthropic. */

/** What a request to the model has in it, whichever wire it came on. */
export interface Asked {
  readonly tools: readonly OfferedTool[];
  /** The results of the script's calls so far. */
  readonly results: readonly string[];
}

interface OfferedTool {
  readonly name: string;
  /** OpenAI's responses have tools below a name. */
  readonly namespace?: string;
}

/** What it says: a call, or words. */
export type Said =
  | { readonly id: string; readonly tool: OfferedTool; readonly args: object }
  | { readonly words: string };

const sse = (data: unknown, event?: string) =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
export const ownIds = "call_script";

interface Wire {
  readonly path: RegExp;
  readonly read: (message: any) => Asked;
  readonly stream: (said: Said) => string;
  readonly whole: (said: Said) => string;
}

const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

const responses: Wire = {
  path: /\/responses$/,
  read: ({ tools = [], input = [] }) => ({
    tools: tools.flatMap((tool: any) =>
      tool.type === "namespace"
        ? tool.tools.map(({ name }: any) => ({ name, namespace: tool.name }))
        : tool.name
          ? { name: tool.name }
          : [],
    ),
    results: input
      .filter(
        ({ type, call_id: id = "" }: any) =>
          type === "function_call_output" && id.startsWith(ownIds),
      )
      .map(({ output }: any) => asText(output)),
  }),
  stream(said) {
    const item =
      "words" in said
        ? {
            ...{ type: "message", id: "m", role: "assistant" },
            content: [{ type: "output_text", text: said.words }],
          }
        : {
            ...{ type: "function_call", id: `f_${said.id}`, call_id: said.id, ...said.tool },
            arguments: JSON.stringify(said.args),
          };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const events = [
      { type: "response.created", response: { id: "r" } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id: "r", usage } },
    ];
    return events.map((event) => sse(event, event.type)).join("");
  },
  whole: () => "{}",
};

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const chunk = (delta: object, finish: string | null) =>
  sse({
    ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "scripted" },
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(finish !== null && { usage }),
  });

const completions: Wire = {
  path: /\/chat\/completions$/,
  read: ({ tools = [], messages = [] }) => ({
    tools: tools.map(({ function: { name } }: any) => ({ name })),
    results: messages
      .filter(({ role, tool_call_id: id = "" }: any) => role === "tool" && id.startsWith(ownIds))
      .map(({ content }: any) => asText(content)),
  }),
  stream(said) {
    const delta =
      "words" in said
        ? { role: "assistant", content: said.words }
        : { role: "assistant", content: null, tool_calls: [{ index: 0, ...toolCall(said) }] };
    return `${chunk(delta, null)}${chunk({}, "words" in said ? "stop" : "tool_calls")}data: [DONE]\n\n`;
  },
  whole(said) {
    const message =
      "words" in said
        ? { role: "assistant", content: said.words }
        : { role: "assistant", content: null, tool_calls: [toolCall(said)] };
    const choice = { index: 0, message, finish_reason: "words" in said ? "stop" : "tool_calls" };
    const head = { id: "c", object: "chat.completion", created: 1, model: "scripted" };
    return JSON.stringify({ ...head, choices: [choice], usage });
  },
};

const toolCall = ({ id, tool, args }: Exclude<Said, { words: string }>) => ({
  ...{ id, type: "function" },
  function: { name: tool.name, arguments: JSON.stringify(args) },
});

const gemini: Wire = {
  path: /:(?:streamG|g)enerateContent$/,
  read: ({ tools = [], contents = [] }) => ({
    tools: tools.flatMap(({ functionDeclarations = [] }: any) =>
      functionDeclarations.map(({ name }: any) => ({ name })),
    ),
    results: contents
      .flatMap(({ parts = [] }: any) => parts)
      .flatMap(({ functionResponse }: any) =>
        functionResponse ? [asText(functionResponse.response)] : [],
      ),
  }),
  stream: (said) => sse(geminiAnswer(said)),
  whole: (said) => JSON.stringify(geminiAnswer(said)),
};

function geminiAnswer(said: Said) {
  const part =
    "words" in said
      ? { text: said.words }
      : { functionCall: { id: said.id, name: said.tool.name, args: said.args } };
  const content = { role: "model", parts: [part] };
  return {
    candidates: [{ index: 0, content, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
}

const anthropic: Wire = {
  path: /\/messages$/,
  read: ({ tools = [], messages = [] }) => ({
    tools: tools.map(({ name }: any) => ({ name })),
    results: messages
      .flatMap(({ content }: any) => (Array.isArray(content) ? content : []))
      .filter(
        ({ type, tool_use_id: id = "" }: any) => type === "tool_result" && id.startsWith(ownIds),
      )
      .map(({ content }: any) => asText(content)),
  }),
  stream(said) {
    const { content, ...message } = anthropicAnswer(said);
    const block = content[0] as Readonly<Record<string, unknown>>;
    const isText = block["type"] === "text";
    const delta = isText
      ? { type: "text_delta", text: block["text"] }
      : { type: "input_json_delta", partial_json: JSON.stringify(block["input"]) };
    const empty = isText ? { type: "text", text: "" } : { ...block, input: {} };
    const events = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: empty },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: message.stop_reason, stop_sequence: null },
        usage: { output_tokens: 1 },
      },
      { type: "message_stop" },
    ];
    return events.map((event) => sse(event, event.type)).join("");
  },
  whole: (said) => JSON.stringify(anthropicAnswer(said)),
};

function anthropicAnswer(said: Said) {
  const isText = "words" in said;
  const block = isText
    ? { type: "text", text: said.words }
    : { type: "tool_use", id: said.id, name: said.tool.name, input: said.args };
  return {
    ...{ id: "msg_1", type: "message", role: "assistant", model: "scripted", content: [block] },
    ...{ stop_reason: isText ? "end_turn" : "tool_use", stop_sequence: null },
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

export const wires: readonly Wire[] = [responses, completions, gemini, anthropic];
