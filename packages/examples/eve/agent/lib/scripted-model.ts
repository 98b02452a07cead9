import { mockModel } from "eve/evals";
import { cartTurns } from "../../../src/steps/cart-turns.ts";

/** eve's own model for tests: it makes the calls of the user's turn, one a step, and repeats the last answer. */
export const scriptedModel = mockModel(({ lastUserMessage, tools, toolResults }) => {
  const index = cartTurns.findIndex(({ prompt }) => prompt === lastUserMessage);
  const before = cartTurns.slice(0, index).flatMap(({ calls }) => calls);
  const call = cartTurns[index]?.calls[toolResults.length - before.length];
  if (call === undefined) return textOf(toolResults.at(-1)?.output);
  const { tool, input } = call;
  return tools.some(({ name }) => name === `cart__${tool}`)
    ? { toolCalls: [{ name: `cart__${tool}`, input }] }
    : { toolCalls: [{ name: "eve__tool", input: { name: `shop__${tool}`, input } }] };
});

/** The texts in a tool's result, whoever made it. */
function textOf(output: unknown): string {
  const texts: string[] = [];
  JSON.stringify(output, (key, value: unknown) => {
    if ((key === "text" || key === "") && typeof value === "string") texts.push(value);
    return value;
  });
  return texts.join(" ");
}
