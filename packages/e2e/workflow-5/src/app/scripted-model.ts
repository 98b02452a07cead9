import type { LanguageModel } from "ai";
import { scriptedStream } from "../../../../workflow/test/app/scripted-stream.ts";

type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: "v4" }>;
type CallOptions = Parameters<LanguageModelV4["doStream"]>[0];

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

  async doStream({ prompt }: CallOptions) {
    return { stream: scriptedStream(prompt) };
  }
}
