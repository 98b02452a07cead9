import { type ScriptedModel, scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";

const addTea = [{ tool: "shop__add_item", input: { item: "tea" } }];

/** In place of yours: it puts tea into the cart, and says what the shop says. It has four prompts in it. */
export const model: ScriptedModel = scriptedModel(
  ...[1, 2, 3, 4].flatMap(() => [addTea, () => toolResults(model).at(-1)!]),
);
