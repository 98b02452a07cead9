import type { LanguageModel } from "ai";
import type { Turn } from "./turn.ts";

type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: "v4" }>;
type GenerateResult = Awaited<ReturnType<LanguageModelV4["doGenerate"]>>;
type GenerateOptions = Parameters<LanguageModelV4["doGenerate"]>[0];
type Prompt = GenerateOptions["prompt"];

/**
 * A language model that costs nothing and always does the same: it makes the calls of a turn, one
 * at a time or together, and answers from the results that it finds in its prompt. The turn may depend on what
 * the user said last.
 */
export function createScriptedModel(turn: Turn | ((prompt: string) => Turn)): LanguageModelV4 {
  const decide = ({ prompt, tools = [] }: GenerateOptions): GenerateResult => {
    const {
      calls,
      together = [],
      answer,
    } = typeof turn === "function" ? turn(lastUserText(prompt)) : turn;
    const results = toolResults(prompt);
    const call = calls[results.length];
    const next = call ? [call] : results.length === calls.length ? together : [];
    if (next.length === 0) return respond("stop", [{ type: "text", text: answer(results) }]);
    const parts = next.map(({ tool, input }) => ({
      type: "tool-call" as const,
      toolCallId: crypto.randomUUID(),
      toolName: findTool(tool, tools),
      input: JSON.stringify(input),
    }));
    return respond("tool-calls", parts);
  };
  return {
    specificationVersion: "v4",
    provider: "durable-mcp-examples",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async (options) => decide(options),
    doStream: () => Promise.reject(new Error("The demos do not stream.")),
  };
}

function lastUserText(prompt: Prompt): string {
  const message = prompt.findLast(({ role }) => role === "user");
  const parts = message?.role === "user" ? message.content : [];
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
}

/** The agent's name of a server's tool: durable-mcp puts the connection's name in front. */
function findTool(tool: string, tools: NonNullable<GenerateOptions["tools"]>): string {
  const found = tools.find(({ name }) => name === tool || name.endsWith(`__${tool}`));
  if (!found) throw new Error(`The agent has no tool ${tool}.`);
  return found.name;
}

/** The text of each tool result since the user last spoke. */
function toolResults(prompt: Prompt): string[] {
  const start = prompt.findLastIndex(({ role }) => role === "user");
  return prompt
    .slice(start)
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []));
}

type ToolResult = Extract<
  Extract<Prompt[number], { role: "tool" }>["content"][number],
  { type: "tool-result" }
>;

function textOf(output: ToolResult["output"]): string {
  if (output.type === "text" || output.type === "error-text") return output.value;
  if (output.type !== "content") return JSON.stringify(output);
  return output.value.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function respond(
  finishReason: "stop" | "tool-calls",
  content: GenerateResult["content"],
): GenerateResult {
  return {
    content,
    finishReason: { unified: finishReason, raw: undefined },
    usage: {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    },
    warnings: [],
  };
}
