import type { ToolCall, Turn } from "../steps/turn.ts";

/** Whose chat it is. */
export const issuer = "https://shop.example";
export const userId = "42";

/** What DBOS calls a run of a chat, the first being 1. */
export function workflowId(chatId: string, run: number): string {
  return `${chatId} ${run}`;
}

const add = (item: string): ToolCall => ({ tool: "add_item", input: { item } });
const list: ToolCall = { tool: "list_items", input: {} };
const lastResult = (results: string[]) => results.at(-1) ?? "";

/**
 * What the user says, one run of the agent each. The scripted model looks what became of the bread,
 * as a real one does when it is told that nobody knows.
 */
export const dbosTurns: Turn[] = [
  {
    prompt: "Put apples, bread and milk in my cart.",
    calls: [add("apples"), add("bread"), list, add("milk")],
    answer: lastResult,
  },
  {
    prompt: "No bread after all.",
    calls: [{ tool: "remove_item", input: { item: "bread" } }],
    answer: lastResult,
  },
];
