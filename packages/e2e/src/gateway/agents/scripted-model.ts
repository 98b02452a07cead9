import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@durable-mcp/server/node";

/** A call that the model makes, one after the other. */
export interface ScriptedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Awaited before the model asks for it. */
  readonly before?: (() => Promise<unknown>) | undefined;
}

/** What a request to the model has in it, whichever wire it came on. */
interface Asked {
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
type Said =
  | { readonly id: string; readonly tool: OfferedTool; readonly args: object }
  | { readonly words: string };

const sse = (data: unknown, event?: string) =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const ownIds = "call_script";

/**
 * A model on loopback that makes the calls of a script, on the wires of OpenAI and of Gemini.
 *
 * @param isResumed the results that it sees at first are of an earlier run
 */
export async function startScriptedModel(script: readonly ScriptedCall[], isResumed = false) {
  let before = isResumed ? undefined : 0;
  const results: string[] = [];
  const begun = new Map<number, Promise<unknown>>();
  const offered = new Set<string>();

  const say = async (asked: Asked): Promise<Said> => {
    for (const { name } of asked.tools) offered.add(name);
    if (asked.tools.length === 0) return { words: "ok" };
    before ??= asked.results.length;
    const own = asked.results.slice(before);
    const at = own.length;
    if (at > results.length) results.push(...own.slice(results.length));
    const call = script[at];
    if (call === undefined) return { words: "done" };
    const tool = asked.tools.find(({ name }) => name.endsWith(call.tool));
    // Some agents call the tools of servers through one of their own.
    const through = asked.tools.find(({ name }) => name === "tool_call");
    if (tool === undefined && through === undefined) return { words: "There is no such tool." };
    const ready = begun.get(at) ?? Promise.resolve(call.before?.());
    begun.set(at, ready);
    await ready;
    const id = `${ownIds}_${before + at}`;
    if (tool !== undefined) return { id, tool, args: call.args };
    const args = { name: `mcp__notebook__${call.tool}`, arguments: call.args };
    return { id, tool: through!, args };
  };
  const handle = async (request: Request) => {
    const { pathname } = new URL(request.url);
    const wire = wires.find(({ path }) => path.test(pathname));
    if (wire === undefined || request.method !== "POST") return Response.json({}, { status: 404 });
    const message = (await request.json()) as { stream?: boolean };
    const said = await say(wire.read(message));
    const isStream = message.stream === true || pathname.endsWith(":streamGenerateContent");
    const type = isStream ? "text/event-stream" : "application/json";
    const text = isStream ? wire.stream(said) : wire.whole(said);
    return new Response(text, { headers: { "content-type": type } });
  };
  const server = createServer(toNodeHandler(handle));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What the calls gave, as the model read it. */
    results,
    /** The names of all tools that it was offered. */
    offered,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

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

const wires: readonly Wire[] = [responses, completions, gemini];
