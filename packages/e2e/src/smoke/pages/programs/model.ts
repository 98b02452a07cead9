// The model of every program, also of those that a shell starts: it calls one tool, then it says that it is done.
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";

export const model: any = scriptedModel(...Array.from({ length: 100 }, () => next));

function next() {
  const { prompt, tools = [] } = [...model.doGenerateCalls, ...model.doStreamCalls]
    .toSorted((one, other) => orderOf(one) - orderOf(other))
    .at(-1);
  const tool = ["delegate", "order", "snapshot"]
    .flatMap((text) => tools.filter(({ name }: any) => name.includes(text)))
    .at(0);
  if (prompt.at(-1).role === "tool" || tool === undefined) return "Done.";
  return [{ tool: tool.name, input: { prompt: "Look.", item: "tea" } }];
}

const seen = new Map<unknown, number>();
function orderOf(call: unknown): number {
  if (!seen.has(call)) seen.set(call, seen.size);
  return seen.get(call)!;
}

export const provider = { specificationVersion: "v4", languageModel: () => model };
Object.assign(globalThis, { AI_SDK_DEFAULT_PROVIDER: provider });
