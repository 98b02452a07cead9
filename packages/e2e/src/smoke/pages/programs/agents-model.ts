// The same for programs of the OpenAI Agents SDK.
import { setDefaultModelProvider } from "@openai/agents";
import {
  assistantMessage,
  functionCall,
  modelResponder,
  ScriptedModel,
} from "@openai/agents/testing";

const next = modelResponder(({ index, request }) => {
  const { input, tools } = request;
  const last = typeof input === "string" ? undefined : input.at(-1);
  const names = tools.map((tool) => ("name" in tool ? tool.name : ""));
  const tool = names.find((name) => /order|snapshot/.test(name));
  if (last?.type === "function_call_result" || tool === undefined) {
    return [assistantMessage("Done.")];
  }
  return [functionCall(tool, { item: "tea" }, { callId: `call-${index}` })];
});
const model = new ScriptedModel(Array.from({ length: 100 }, () => next));
setDefaultModelProvider({ getModel: () => model });
