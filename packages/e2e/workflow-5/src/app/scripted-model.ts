import type { LanguageModel } from "ai";

type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: "v4" }>;
type CallOptions = Parameters<LanguageModelV4["doStream"]>[0];
type StreamResult = Awaited<ReturnType<LanguageModelV4["doStream"]>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer PART> ? PART : never;
type ModelCall = { tool: string; input?: unknown };

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/**
 * A model whose prompt says which calls it makes, turn by turn, and that ends with "done". The engine
 * hands it from the workflow to steps.
 */
export class ScriptedModel implements LanguageModelV4 {
  static [Symbol.for("workflow-serialize")](_model: ScriptedModel) {
    return {};
  }

  static [Symbol.for("workflow-deserialize")](_options: object) {
    return new ScriptedModel();
  }

  readonly specificationVersion = "v4";
  readonly provider = "durable-mcp";
  readonly modelId = "scripted";
  readonly supportedUrls = {};

  doGenerate(): never {
    throw new Error("WorkflowAgent streams.");
  }

  async doStream({ prompt }: CallOptions): Promise<StreamResult> {
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
    const finish: StreamPart = { type: "finish", finishReason: { unified, raw: undefined }, usage };
    const stream = new ReadableStream<StreamPart>({
      start(controller) {
        for (const part of [{ type: "stream-start" as const, warnings: [] }, ...parts, finish]) {
          controller.enqueue(part);
        }
        controller.close();
      },
    });
    return { stream };
  }
}
