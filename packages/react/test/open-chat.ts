import { type DurableChatOptions, type DurableChatState, useDurableChat } from "../src/index.ts";
import { type ChatServer, placeholder, question, said } from "./chat-server.ts";
import { renderHook } from "./render.ts";

/** The texts of all messages, in their order. */
export const textsOf = ({ messages }: { messages: DurableChatState["messages"] }) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => ("text" in part ? [part.text] : [])));

export async function openChat(
  { api, state: initialState }: ChatServer,
  options: Partial<DurableChatOptions<DurableChatState>> = {},
) {
  const all = { id: "chat 1", api, initialState, intervalMs: 20, ...options };
  const hook = await renderHook(useDurableChat<DurableChatState>, all);
  return { ...hook, redraw: () => hook.update({ ...all }) };
}

/** A question that nobody has answered. */
export const waits = {
  messages: [said("u1", "Order tea"), placeholder(question)],
  waiting: [question],
};
