import type { Turn } from "../steps/turn.ts";

/** What the user says first. */
export const firstPrompt = "Order tea.";

export const instructions =
  "Do what the user asks with the tools you have, then answer in one sentence.";

/**
 * What the scripted model makes of “Order tea.”
 *
 * @param use.isLocked whether the shop's tools are not there yet, but the one that waits for the sign-in
 */
export function orderTurn(prompt: string, { isLocked }: { isLocked: boolean }): Turn {
  const [, item] = /(\w+)\.$/.exec(prompt) ?? [];
  const signIn = isLocked ? [{ tool: "sign_in", input: {} }] : [];
  return {
    prompt,
    calls: [...signIn, { tool: "order", input: { item } }],
    answer: (results) => results.at(-1) ?? "",
  };
}
