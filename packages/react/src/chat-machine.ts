import type { UIMessage } from "ai";
import { openPage, type PageEvent, step } from "./chat-page.ts";
import type { Post } from "./chat-transport.ts";
import type { DurableChatState, PageEffect } from "./page-state.ts";

const longestTimerMs = 2 ** 31 - 1;
const momentNow = () => ({ now: Date.now(), random: Math.random() });

/** Keeps a page and its timer. */
export function createChatMachine<MESSAGE extends UIMessage>(
  state: DurableChatState<MESSAGE> | undefined,
) {
  const listeners = new Set<() => void>();
  let page = openPage(state, momentNow());
  let post: Post<MESSAGE> | undefined;
  let seenChunks = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOn = false;

  const dispatch = (event: PageEvent<MESSAGE>) => {
    if (!isOn) return;
    const before = page;
    const [next, effects] = step(before, event, momentNow());
    page = next;
    if (next.dueAt !== before.dueAt) plan();
    for (const effect of effects) machine.run(effect);
    if (next === before) return;
    for (const listener of listeners) listener();
  };
  const plan = () => {
    clearTimeout(timer);
    if (page.dueAt === undefined) return;
    const ms = Math.min(page.dueAt - Date.now(), longestTimerMs);
    timer = setTimeout(dispatch, ms, { type: "due" });
  };
  const goOnline = () => dispatch({ type: "online" });

  const machine = {
    page: () => page,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Begins with what is due. Nothing happens any more after a call of what it returns. */
    start: () => {
      isOn = true;
      window.addEventListener("online", goOnline);
      plan();
      return () => {
        isOn = false;
        window.removeEventListener("online", goOnline);
        clearTimeout(timer);
      };
    },
    /** Does what the page has to do. */
    run: (_effect: PageEffect): void => undefined,
    tell: (type: "told" | "stopped" | "cleared") => dispatch({ type }),
    onPost: (next: Post<MESSAGE>) => {
      post = next;
      seenChunks = 0;
      const last = next.messages.at(-1);
      const isNew = !page.state?.messages.some(({ id }) => id === last?.id);
      dispatch({ type: "posted", message: isNew && last?.role === "user" ? last : undefined });
    },
    onFinish: (isAbort: boolean) => {
      const failure = isAbort ? undefined : post?.failure;
      dispatch({ type: "ended", failure, chunks: post?.chunks ?? 0 });
    },
    onRead: (found: DurableChatState<MESSAGE> | undefined) => {
      const all = post?.chunks ?? 0;
      const chunks = all - seenChunks;
      seenChunks = all;
      const type = found ? "found" : "missed";
      dispatch({ type, state: found, chunks } as PageEvent<MESSAGE>);
    },
  };
  return machine;
}
