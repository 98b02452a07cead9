import type { CompatibleLanguageModel } from "@workflow/ai/agent";
import { scriptedStream } from "./scripted-stream.ts";

/** A model whose prompt says which calls it makes, turn by turn, and that ends with "done". */
export async function scriptedModel(): Promise<CompatibleLanguageModel> {
  "use step";
  return {
    specificationVersion: "v3",
    provider: "durable-mcp",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("DurableAgent streams.")),
    doStream: async ({ prompt }) => ({ stream: scriptedStream(prompt) }),
  };
}
