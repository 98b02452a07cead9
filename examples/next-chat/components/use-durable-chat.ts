import { useChat } from "@ai-sdk/react";
import type { WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import { DefaultChatTransport } from "ai";
import { useRouter } from "next/navigation";
import { useEffect, useRef } from "react";
import type { ChatMessage } from "../lib/chat-message";
import type { ChatState } from "../lib/chat-state";
import { blockingEntries, placeholdersOf, workingCalls } from "../lib/waiting";

interface DurableChat {
  readonly messages: ChatMessage[];
  /** Whether an answer is being made, here or after a reload. */
  readonly isBusy: boolean;
  /** What a person has to do before the agent can go on. */
  readonly blocking: readonly WaitingEntry[];
  /** The calls that their server works on. */
  readonly working: readonly WaitingCall[];
  /** Why there is no answer. */
  readonly problem: string | undefined;
  readonly say: (text: string) => void;
  readonly goOn: () => void;
}

/** AI SDK's chat, whose messages are the server's. The browser sends what is new. */
export function useDurableChat(id: string, state: ChatState): DurableChat {
  const router = useRouter();
  const { messages, setMessages, sendMessage, status, error, clearError } = useChat<ChatMessage>({
    id,
    messages: state.messages,
    transport: new DefaultChatTransport({
      api: `/api/chat/${encodeURIComponent(id)}`,
      prepareSendMessagesRequest({ messages: all }) {
        const last = all.at(-1);
        return { body: { message: last?.role === "user" ? last : undefined } };
      },
    }),
    onFinish: () => router.refresh(),
  });
  const isStreaming = status === "submitted" || status === "streaming";
  const isAnsweredElsewhere = !isStreaming && state.answering === "yes";
  const blocking = blockingEntries(state.waiting);

  const isStreamingNow = useRef(isStreaming);
  isStreamingNow.current = isStreaming;
  useEffect(() => {
    if (!isStreamingNow.current) setMessages(state.messages);
  }, [state, setMessages]);

  // After a reload in the middle of an answer: it is made to its end, by whichever process.
  useEffect(() => {
    const timer = isAnsweredElsewhere ? setTimeout(() => router.refresh(), 1_000) : undefined;
    return () => clearTimeout(timer);
  }, [isAnsweredElsewhere, state, router]);

  const working = workingCalls(state.waiting);
  const lookAt = Math.min(...working.map(({ pollAfter = 0 }) => pollAfter));

  // The person has answered, or signed in, or a server may be asked again: the agent goes on, once for each time.
  const placeholders = state.messages.flatMap(placeholdersOf);
  const isFree = !isStreaming && state.answering === "no" && blocking.length === 0;
  const wentOn = useRef("");
  useEffect(() => {
    const reason = JSON.stringify([placeholders, state.waiting]);
    // A look that came too early, by this browser's clock, is made again.
    const isNew = wentOn.current !== reason || (working.length > 0 && error === undefined);
    if (!isFree || placeholders.length === 0 || !isNew) return undefined;
    // In development React runs the effects of a new page twice.
    const timer = setTimeout(() => {
      wentOn.current = reason;
      void sendMessage();
    }, lookAfterMs(lookAt));
    return () => clearTimeout(timer);
  });

  const isInterrupted = !isStreaming && state.answering === "interrupted";
  return {
    messages,
    isBusy: isStreaming || isAnsweredElsewhere,
    blocking,
    working,
    problem: error?.message ?? (isInterrupted ? "The process that answered is gone." : undefined),
    say(text) {
      clearError();
      void sendMessage({ text });
    },
    goOn() {
      clearError();
      void sendMessage();
    },
  };
}

const lookAfterMs = (at: number) => (Number.isFinite(at) ? Math.max(1_000, at - Date.now()) : 0);
