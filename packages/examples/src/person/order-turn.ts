import type { Turn } from "../steps/turn.ts";

/** What the user wants, and what the scripted model makes of it. */
export const orderTurn: Turn = {
  prompt: "Order tea.",
  calls: [{ tool: "order", input: { item: "tea" } }],
  answer: (results) => results.at(-1) ?? "",
};

export const instructions =
  "Do what the user asks with the tools you have, then answer in one sentence.";

/** What the person says to each question of the shop. */
export const answers: Readonly<Record<string, { said: string; content: object }>> = {
  confirm: { said: "Yes.", content: { ok: true } },
  delivery: { said: "At nine.", content: { time: "09:00" } },
};
