import { useChat, type UseChatHelpers } from "@ai-sdk/react";
import { type ChatInit, DefaultChatTransport, type UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import {
  defaultIntervalMs,
  placeholdersOf,
  useWaiting,
  type Waiting,
  type WaitingOptions,
  type WaitingState,
} from "./use-waiting.ts";

/** A chat, as a route of yours gives it. It may have more members. */
export interface DurableChatState<MESSAGE extends UIMessage = UIMessage> extends WaitingState {
  /** All messages, as the server has them. */
  readonly messages: MESSAGE[];
}

type MessageOf<STATE extends DurableChatState> = STATE["messages"][number];

/** The options of {@link useWaiting}, and those of `useChat` but for what the server decides. */
export interface DurableChatOptions<STATE extends DurableChatState>
  extends
    WaitingOptions<STATE>,
    Omit<ChatInit<MessageOf<STATE>>, "id" | "messages" | "sendAutomaticallyWhen"> {
  /** The id of the chat. */
  readonly id: string;
  /**
   * The URL of a route of yours. A GET answers with the state, as JSON. A POST has `{ message }`, the user's new
   * message, or `{}` to go on, and answers with a stream of UI messages.
   */
  readonly api: string;
}

/** What `useChat` returns, and what waits. */
export interface DurableChat<STATE extends DurableChatState>
  extends Omit<UseChatHelpers<MessageOf<STATE>>, "error">, Waiting<STATE> {
  /** Whether an answer is being made, here or by another page or process. */
  readonly isBusy: boolean;
  /** Why there is no answer, or why the page may be old. `goOn` tries again. */
  readonly error: Error | undefined;
  /** Forgets the error, and has the agent go on where it is. */
  readonly goOn: () => void;
}

/**
 * AI SDK's `useChat` for a chat whose messages are the server's: the browser sends what is new. The agent goes on by
 * itself, once, when a question has its answer, when the user has signed in, or when a server may be asked again how
 * its work is. An answer that another page or process is making is waited for. `stop` stops reading, and the answer
 * goes on: ask your server to stop it.
 */
export function useDurableChat<STATE extends DurableChatState>(
  options: DurableChatOptions<STATE>,
): DurableChat<STATE> {
  const { api, initialState, fetch, intervalMs, ...own } = options;
  const waiting = useWaiting<STATE>({ api, initialState, fetch, intervalMs });
  const { state, refresh } = waiting;
  const latest = useRef({ isStreaming: false, wentOnFor: "" }).current;
  // Another page may go on for the same reason, a moment earlier: that is no failure of this one.
  const [isQuiet, setIsQuiet] = useState(false);
  const settle = async () => {
    const now = await refresh();
    const isDone = now && (now.answering === "yes" || reasonOf(now) !== latest.wentOnFor);
    if (isQuiet && isDone) chat.clearError();
    setIsQuiet(false);
  };
  const chat = useChat<MessageOf<STATE>>({
    transport: createTransport<STATE>(api, fetch),
    ...own,
    messages: initialState?.messages ?? [],
    onFinish(event) {
      void settle();
      own.onFinish?.(event);
    },
  });
  const { setMessages, sendMessage, stop } = chat;
  const isStreaming = chat.status === "submitted" || chat.status === "streaming";
  latest.isStreaming = isStreaming;
  useEffect(() => {
    if (state && !latest.isStreaming) setMessages(state.messages);
  }, [state, setMessages, latest]);

  useEffect(() => {
    if (!isStreaming) return undefined;
    // The stream of a process that is gone may stay open, behind a proxy for example.
    let before: string | undefined;
    const look = async () => {
      if (document.visibilityState !== "visible") return;
      const now = (await refresh())?.answering;
      // At the first look the process may not have begun.
      if (now === "interrupted" && now === before) await stop();
      before = now;
    };
    const timer = setInterval(() => void look(), intervalMs ?? defaultIntervalMs);
    return () => clearInterval(timer);
  }, [isStreaming, intervalMs, refresh, stop]);

  const dueAt = isStreaming ? undefined : dueAtOf(waiting);
  const reason = state && reasonOf(state);
  // A look that came too early, by this browser's clock, is made again.
  const isLook = waiting.working.length > 0 && chat.error === undefined;
  useEffect(() => {
    const isNew = isLook || latest.wentOnFor !== reason;
    if (dueAt === undefined || reason === undefined || !isNew) return undefined;
    const goOn = () => {
      latest.wentOnFor = reason;
      setIsQuiet(true);
      void sendMessage();
    };
    // In development React runs the effects of a new page twice.
    const timer = setTimeout(goOn, dueAt === 0 ? 0 : Math.max(1_000, dueAt - Date.now()));
    return () => clearTimeout(timer);
  }, [dueAt, reason, isLook, sendMessage, latest]);

  const isInterrupted = !isStreaming && state?.answering === "interrupted";
  const gone = isInterrupted ? new Error("The process that answered is gone.") : undefined;
  const failed = (isQuiet ? undefined : chat.error) ?? gone;
  return {
    ...chat,
    ...waiting,
    isBusy: isStreaming || state?.answering === "yes",
    error: failed ?? waiting.error,
    goOn() {
      chat.clearError();
      void (failed ? sendMessage() : refresh());
    },
  };
}

/** When the agent may go on: 0 at once, `undefined` not yet. */
function dueAtOf({ state, blocking, working }: Waiting<DurableChatState>): number | undefined {
  const { messages = [], answering = "no" } = state ?? {};
  const isFree = answering === "no" && blocking.length === 0;
  if (!isFree || messages.flatMap(placeholdersOf).length === 0) return undefined;
  return working.length > 0 ? Math.min(...working.map(({ pollAfter = 1 }) => pollAfter)) : 0;
}

/** What the agent goes on for, once. */
function reasonOf({ messages, waiting }: DurableChatState): string {
  return JSON.stringify([messages.flatMap(placeholdersOf), waiting]);
}

/** Sends the user's new message: all else of the chat is the server's. */
function createTransport<STATE extends DurableChatState>(
  api: string,
  fetch: typeof globalThis.fetch | undefined,
): DefaultChatTransport<MessageOf<STATE>> {
  return new DefaultChatTransport<MessageOf<STATE>>({
    ...{ api, ...(fetch && { fetch }) },
    prepareSendMessagesRequest({ messages, body }) {
      const last = messages.at(-1);
      return { body: { ...body, message: last?.role === "user" ? last : undefined } };
    },
  });
}
