import type { CompatibleLanguageModel } from "@workflow/ai/agent";

type StreamResult = Awaited<ReturnType<CompatibleLanguageModel["doStream"]>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer PART> ? PART : never;

/** The calls of one turn, which the agent makes at once. */
export type Turn = { tool: string; input: object }[];

/** A language model that costs nothing: the prompt says, turn by turn, which calls it makes. */
export async function orderModel(): Promise<CompatibleLanguageModel> {
  "use step";
  return {
    specificationVersion: "v3",
    provider: "durable-mcp-examples",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("DurableAgent streams.")),
    async doStream({ prompt }) {
      const said = prompt.find(({ role }) => role === "user")!.content as { text: string }[];
      const turns = JSON.parse(said[0]!.text) as Turn[];
      const calls = turns[prompt.filter(({ role }) => role === "tool").length];
      return { stream: streamOf(calls ? calls.map(toolCall) : sayDone, calls !== undefined) };
    },
  };
}

const sayDone: StreamPart[] = [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "Done." },
  { type: "text-end", id: "1" },
];

function toolCall({ tool, input }: Turn[number]): StreamPart {
  const toolCallId = crypto.randomUUID();
  return { type: "tool-call", toolCallId, toolName: tool, input: JSON.stringify(input) };
}

function streamOf(parts: StreamPart[], hasCalls: boolean): ReadableStream<StreamPart> {
  const unified = hasCalls ? "tool-calls" : "stop";
  const usage = {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
  };
  const all: StreamPart[] = [
    { type: "stream-start", warnings: [] },
    ...parts,
    { type: "finish", finishReason: { unified, raw: undefined }, usage },
  ];
  return new ReadableStream({
    start(controller) {
      for (const part of all) controller.enqueue(part);
      controller.close();
    },
  });
}
