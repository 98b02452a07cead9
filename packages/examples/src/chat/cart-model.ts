import { createScriptedModel } from "../scripted-model.ts";
import type { ToolCall, Turn } from "../turn.ts";

/** Understands "add …", "remove …" and, of everything else, that the cart is to be looked into. */
export function createCartModel() {
  return createScriptedModel(turnFor);
}

function turnFor(prompt: string): Turn {
  const [, verb = "", items = ""] = /\b(add|remove)\s+(.+?)[.!]?$/i.exec(prompt) ?? [];
  const tool = verb.toLowerCase() === "add" ? "add_item" : "remove_item";
  const named = items.split(/,|\band\b/).flatMap((item) => item.trim() || []);
  const calls: ToolCall[] = named.map((item) => ({ tool, input: { item } }));
  if (calls.length === 0) calls.push({ tool: "list_items", input: {} });
  return { prompt, calls, answer: (results) => results.at(-1) ?? "" };
}
