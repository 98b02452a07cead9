import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { createScriptedModel } from "./scripted-model";

/** Providers with a key of their own. Install another one's package, and add it here. */
const providers: Record<string, { key: string; create: (model: string) => LanguageModel }> = {
  anthropic: { key: "ANTHROPIC_API_KEY", create: (model) => createAnthropic()(model) },
  google: { key: "GOOGLE_GENERATIVE_AI_API_KEY", create: (model) => createGoogle()(model) },
  openai: { key: "OPENAI_API_KEY", create: (model) => createOpenAI()(model) },
};

/** The model of `MODEL`, as "provider/model"; a script if there is none. */
export function chooseModel(): { model: LanguageModel; modelName: string | undefined } {
  const modelName = process.env["MODEL"] || undefined;
  if (modelName === undefined) return { model: createScriptedModel(), modelName };
  const [name = "", ...rest] = modelName.split("/");
  const provider = providers[name];
  // A text is a model of the AI Gateway, which has those of all providers.
  const model = provider && process.env[provider.key] ? provider.create(rest.join("/")) : modelName;
  return { model, modelName };
}
