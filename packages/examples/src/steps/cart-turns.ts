import type { ToolCall, Turn } from "./turn.ts";

const add = (item: string): ToolCall => ({ tool: "add_item", input: { item } });
const remove = (item: string): ToolCall => ({ tool: "remove_item", input: { item } });
const list: ToolCall = { tool: "list_items", input: {} };

const lastResult = (results: string[]) => results.at(-1) ?? "";

/** The conversation of the demo, one turn a step. */
export const cartTurns: Turn[] = [
  {
    prompt: "Put apples and bread in my cart.",
    calls: [add("apples"), add("bread")],
    answer: lastResult,
  },
  {
    prompt: "Milk, too.",
    calls: [add("milk")],
    answer: lastResult,
  },
  {
    prompt: "No bread after all.",
    calls: [remove("bread")],
    answer: lastResult,
  },
  {
    prompt: "Look into my cart: what is in it now?",
    calls: [list],
    answer: ([result = ""]) => {
      // After a lost session the result begins with a note to the model.
      const [contents = "", note] = result.split("\n").toReversed();
      return note === undefined ? contents : `${contents} The shop has forgotten it.`;
    },
  },
  {
    prompt: "Then put back what was in it, and look again.",
    calls: [add("apples"), add("milk"), list],
    answer: lastResult,
  },
];
