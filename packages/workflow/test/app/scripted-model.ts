import type { CompatibleLanguageModel } from "@workflow/ai/agent";

type ModelCall = { tool: string; input?: unknown };
type StreamResult = Awaited<ReturnType<CompatibleLanguageModel["doStream"]>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer PART> ? PART : never;

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** A model whose prompt says which calls it makes, turn by turn, and that ends with "done". */
export async function scriptedModel(): Promise<CompatibleLanguageModel> {
  "use step";
  return {
    specificationVersion: "v3",
    provider: "durable-mcp",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("DurableAgent streams.")),
    async doStream({ prompt }) {
      const said = prompt.find(({ role }) => role === "user")!;
      const turns = JSON.parse((said.content as { text: string }[])[0]!.text) as ModelCall[][];
      const calls = turns[prompt.filter(({ role }) => role === "tool").length];
      const parts: StreamPart[] = calls
        ? calls.map(({ tool, input = {} }) => ({
            type: "tool-call",
            toolCallId: crypto.randomUUID(),
            toolName: tool,
            input: JSON.stringify(input),
          }))
        : [
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: "done" },
            { type: "text-end", id: "1" },
          ];
      const unified = calls ? ("tool-calls" as const) : ("stop" as const);
      const finish: StreamPart = {
        type: "finish",
        finishReason: { unified, raw: undefined },
        usage,
      };
      const stream = new ReadableStream<StreamPart>({
        start(controller) {
          for (const part of [{ type: "stream-start" as const, warnings: [] }, ...parts, finish]) {
            controller.enqueue(part);
          }
          controller.close();
        },
      });
      return { stream };
    },
  };
}
