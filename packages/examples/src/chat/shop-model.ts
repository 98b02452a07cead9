import { createScriptedModel } from "../steps/scripted-model.ts";
import type { ToolCall, Turn } from "../steps/turn.ts";

/**
 * Understands "add …", "remove …", "ship", "order …", "join" and, of all else, that the cart is to be looked into.
 */
export function createShopModel() {
  return createScriptedModel(turnFor);
}

const tools: Readonly<Record<string, string>> = {
  add: "add_item",
  remove: "remove_item",
  order: "order",
};

function turnFor(prompt: string): Turn {
  const [, verb = "", items = ""] = /\b(add|remove|order)\s+(.+?)[.!]?$/i.exec(prompt) ?? [];
  const tool = tools[verb.toLowerCase()] ?? "";
  const named = items.split(/,|\band\b/).flatMap((item) => item.trim() || []);
  const calls: ToolCall[] = named.map((item) => ({ tool, input: { item } }));
  if (tool === "order") return { prompt, calls: [], together: calls, answer: answerAll };
  if (/\bship\b/i.test(prompt)) {
    return { prompt, calls: [{ tool: "ship_items", input: {} }], answer };
  }
  if (/\bjoin\b/i.test(prompt)) {
    return { prompt, calls: [{ tool: "join_club", input: {} }], answer: answerAll };
  }
  if (calls.length === 0) calls.push({ tool: "list_items", input: {} });
  return { prompt, calls, answer };
}

function answerAll(results: string[]): string {
  return results.join(" ");
}

/** What the last call gave. After a lost session the first one begins with a note to the model. */
function answer(results: string[]): string {
  const isForgotten = results.some((result) => result.includes("\n"));
  const contents = results.at(-1)?.split("\n").at(-1) ?? "";
  return isForgotten ? `${contents} The shop has forgotten what was in it.` : contents;
}
