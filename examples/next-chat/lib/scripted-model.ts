import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel } from "ai";

type ScriptedModel = Extract<LanguageModel, { specificationVersion: "v4" }>;
type Options = Parameters<ScriptedModel["doGenerate"]>[0];
type Generated = Awaited<ReturnType<ScriptedModel["doGenerate"]>>;
type Streamed = Awaited<ReturnType<ScriptedModel["doStream"]>>;
type StreamPart = Streamed["stream"] extends ReadableStream<infer PART> ? PART : never;
type Prompt = Options["prompt"];

interface Call {
  readonly tool: string;
  readonly input: Record<string, string>;
}

/** A language model that costs nothing. It understands a few words, makes the calls, and repeats what they gave. */
export function createScriptedModel(): ScriptedModel {
  return {
    specificationVersion: "v4",
    provider: "next-chat",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async (options) => decide(options),
    async doStream(options) {
      const parts = streamParts(decide(options));
      const stream = new ReadableStream<StreamPart>({
        async pull(controller) {
          const { done, value } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
      });
      return { stream };
    },
  };
}

/**
 * "add tea and milk", "remove milk", "order tea", "pay tea", "track tea", "points", "2 + 2"; "helper, order tea" for the sub-agent; with a
 * browser "open https://…" and "what is on the page?". All else is a question about the cart.
 */
function plan(text: string): Call[] {
  const [, prompt] = /\bhelper\W+(.+)/i.exec(text) ?? [];
  if (prompt !== undefined) return [{ tool: "helper", input: { prompt } }];
  const [, url] = /\bopen\s+(https?:\S+)/i.exec(text) ?? [];
  if (url !== undefined) return [{ tool: "browser__browser_navigate", input: { url } }];
  if (/\bpage\b/i.test(text)) return [{ tool: "browser__browser_snapshot", input: {} }];
  const [, verb = "", items = ""] =
    /\b(add|remove|order|pay|track)\s+(.+?)[.!]?$/i.exec(text) ?? [];
  if (/\bpoints\b/i.test(text)) return [{ tool: "account__points", input: {} }];
  const tool = tools[verb.toLowerCase()];
  if (tool === undefined) return [{ tool: "cart__list_items", input: {} }];
  return items
    .split(/,|\band\b/)
    .flatMap((item) => item.trim() || [])
    .map((item) => ({ tool, input: { item } }));
}

const tools: Record<string, string> = {
  add: "cart__add_item",
  remove: "cart__remove_item",
  order: "delivery__order",
  pay: "delivery__pay",
  track: "delivery__track",
};

function decide({ prompt, tools: given = [] }: Options): Generated {
  const lastUser = prompt.findLastIndex(({ role }) => role === "user");
  const said = userText(prompt[lastUser]);
  const [, a, b] = /(\d+) \+ (\d+)/.exec(said) ?? [];
  if (a !== undefined) return say(`${a} + ${b} is ${Number(a) + Number(b)}.`);
  // A call has its result now that waited while the user went on.
  const isLanding = said.startsWith("From the application");
  const results = prompt
    .slice(isLanding ? 0 : lastUser)
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .flatMap((part) => (part.type === "tool-result" ? [part] : []))
    // After a sign-in comes the call that needed it.
    .filter(({ toolName }) => !toolName.endsWith("__sign_in"));
  const call = isLanding ? undefined : plan(said)[results.length];
  if (call === undefined) return say(resultText(results.at(-1)?.output));
  const names = given.map(({ name }) => name);
  const signIn = call.tool.replace(/__.*$/, "__sign_in");
  const toolName = [call.tool, signIn].find((name) => names.includes(name));
  if (toolName === undefined) return say(`I have no tool ${call.tool}. Is its server running?`);
  const input = JSON.stringify(toolName === call.tool ? call.input : {});
  const toolCallId = crypto.randomUUID();
  return respond("tool-calls", [{ type: "tool-call", toolCallId, toolName, input }]);
}

function userText(message: Prompt[number] | undefined): string {
  const parts = message?.role === "user" ? message.content : [];
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
}

type Output = Extract<
  Extract<Prompt[number], { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];

function resultText(output: Output | undefined): string {
  if (output?.type === "text" || output?.type === "error-text") return output.value;
  if (output?.type !== "content") return JSON.stringify(output ?? "Nothing to do.");
  return output.value.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

const say = (text: string): Generated => respond("stop", [{ type: "text", text }]);

function respond(unified: "stop" | "tool-calls", content: Generated["content"]): Generated {
  return {
    content,
    finishReason: { unified, raw: undefined },
    usage: {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    },
    warnings: [],
  };
}

/** A text in words, at the pace of a fast speaker. */
async function* streamParts(generated: Generated): AsyncGenerator<StreamPart, void> {
  const { content, finishReason, usage } = generated;
  yield { type: "stream-start", warnings: [] };
  for (const part of content) {
    if (part.type === "tool-call") yield part;
    if (part.type !== "text") continue;
    const id = crypto.randomUUID();
    yield { type: "text-start", id };
    for (const delta of part.text.split(/(?<= )/)) {
      await sleep(40);
      yield { type: "text-delta", id, delta };
    }
    yield { type: "text-end", id };
  }
  yield { type: "finish", finishReason, usage };
}
