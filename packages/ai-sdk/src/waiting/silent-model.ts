import type { LanguageModel } from "ai";

/** A specification of language models that AI SDK 6 and 7 take. */
type LanguageModelV3 = Extract<LanguageModel, { readonly specificationVersion: "v3" }>;

const modelId = "durable-mcp/waiting";

const usage = {
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
// Not "stop": AI SDK would then read a structured output in no text.
const finishReason = { unified: "other", raw: "waiting" } as const;

/**
 * A language model that says nothing, at once and at no cost. AI SDK calls the model after some tools without asking
 * anybody, so a loop can only be stopped there by the model itself.
 */
const silentModel: LanguageModelV3 = {
  specificationVersion: "v3",
  provider: "durable-mcp",
  modelId,
  // It reads no file, so none is downloaded for it.
  supportedUrls: { "*/*": [/^/] },
  async doGenerate({ abortSignal }) {
    // As any other model. For streams AI SDK looks itself.
    abortSignal?.throwIfAborted();
    return { content: [], finishReason, usage, warnings: [] };
  },
  async doStream() {
    return {
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "finish", finishReason, usage });
          controller.close();
        },
      }),
    };
  },
};

/** What a `prepareStep` gives for a step in which the model says nothing. It cannot obey a tool choice. */
export const silentStep: { readonly model: LanguageModel; readonly toolChoice: "auto" } = {
  model: silentModel,
  toolChoice: "auto",
};

/** Whether the model of a step was the silent one. */
export function isSilent(step: { readonly response: { readonly modelId: string } }): boolean {
  return step.response.modelId === modelId;
}
