import { useChat, type UseChatHelpers } from "@ai-sdk/react";
import type { InputResponses, WaitingCall } from "@durable-mcp/core/waiting";
import type { ChatInit } from "ai";
import { useEffect, useState, useSyncExternalStore } from "react";
import { createChatMachine } from "./chat-machine.ts";
import { shownMessages } from "./chat-page.ts";
import { createTransport, watchTransport } from "./chat-transport.ts";
import { type ChatPhase, viewOf } from "./chat-view.ts";
import type { DurableChatState } from "./page-state.ts";
import type { AnswerProblem } from "./question.tsx";
import { problemOf, refusing } from "./refusal.ts";
import { useServerState } from "./use-server-state.ts";
import {
  defaultIntervalMs,
  everyMs,
  type Waiting,
  type WaitingOptions,
  openOf,
} from "./use-waiting.ts";

type MessageOf<STATE extends DurableChatState> = STATE["messages"][number];

/** How long an answer may be on its way. */
const askMs = 20_000;

/** The options of {@link useWaiting}, and those of `useChat` but for what the server decides. */
export interface DurableChatOptions<STATE extends DurableChatState>
  extends
    WaitingOptions<STATE>,
    Omit<ChatInit<MessageOf<STATE>>, "id" | "messages" | "sendAutomaticallyWhen"> {
  /** The id of the chat. */
  readonly id: string;
  /**
   * The URL of a route of yours. A GET answers with the state, as JSON. A POST has `{ message }`, the user's new
   * message, or `{}` to go on, and answers with a stream of UI messages. A message has the same id when it is sent again.
   */
  readonly api: string;
}

/** What `useChat` returns, and what waits. */
export interface DurableChat<STATE extends DurableChatState>
  extends Omit<UseChatHelpers<MessageOf<STATE>>, "error">, Waiting<STATE> {
  /** What the page does. */
  readonly phase: ChatPhase;
  /** Whether an answer is being made, here or by another page or process, or a message is still to be sent. */
  readonly isBusy: boolean;
  /** Why there is no answer, or why the page may be old. `goOn` tries again at once. */
  readonly error: Error | undefined;
  /** Forgets the error, and has the agent go on where it is. A message that was not sent is sent. */
  readonly goOn: () => void;
  /** For {@link Question}. Its POST is `{ answer: { call, round, responses } }`. */
  readonly answer: (
    responses: InputResponses,
    call: WaitingCall,
  ) => Promise<AnswerProblem | undefined>;
  /** For {@link Question}. Its POST is `{ withdraw: { call } }`; that of `addToolApprovalResponse` has `approval`. */
  readonly withdraw: (call: WaitingCall) => Promise<AnswerProblem | undefined>;
  /** Ends the answer on the server. Its POST is `{ stop: true }`; `stop` only stops reading. */
  readonly stopAnswer: () => Promise<AnswerProblem | undefined>;
}

/**
 * AI SDK's `useChat` for a chat whose messages are the server's: the browser sends what is new. The agent goes on by
 * itself, once, when a question has its answer, when the user has signed in, or when a server may be asked again how
 * its work is, and a few times when the process of an answer is gone. An answer that another page or process is making
 * is waited for. What fails on the way to the server is tried again, after 1 s to 30 s, and as soon as the browser is
 * online. A message that the server has not taken stays in `messages`.
 */
export function useDurableChat<STATE extends DurableChatState>(
  options: DurableChatOptions<STATE>,
): DurableChat<STATE> {
  type MESSAGE = MessageOf<STATE>;
  const { api, initialState, fetch, intervalMs = defaultIntervalMs, ...own } = options;
  const [kept, keep] = useState(() => ({ api, machine: createChatMachine<MESSAGE>(initialState) }));
  // Another chat begins with nothing of this one.
  const isOther = kept.api !== api;
  const machine = isOther ? createChatMachine<MESSAGE>(undefined) : kept.machine;
  if (isOther) keep({ api, machine });
  const page = useSyncExternalStore(machine.subscribe, machine.page, machine.page);
  const { at } = page;

  const { state, failure, refresh } = useServerState<STATE>(
    { api, initialState, fetch },
    (now) => {
      if (at === "checking") return Math.min(1_000, intervalMs);
      return at === "posting" ? intervalMs : everyMs(now, intervalMs);
    },
    machine.onRead,
  );
  const chat = useChat<MESSAGE>({
    ...own,
    id: own.id,
    transport: watchTransport(
      own.transport ?? createTransport(api, () => machine.page().unsent, fetch),
      machine.onPost,
    ),
    messages: initialState?.messages ?? [],
    onFinish(event) {
      machine.onFinish(event.isAbort);
      own.onFinish?.(event);
    },
  });
  machine.run = (effect) => {
    const now = machine.page();
    if (effect === "look") void refresh();
    if (effect === "leave") void chat.stop();
    if (effect === "post") void chat.sendMessage();
    if (effect !== "show") return;
    if (now.at !== "failed") chat.clearError();
    chat.setMessages((local) => shownMessages(now, local));
  };
  useEffect(() => machine.start(), [machine]);

  const ask = async (body: object) => {
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.timeout(askMs);
    const init = { method: "POST", headers, signal, body: JSON.stringify(body) };
    const sent = refusing(fetch)(api, init);
    const problem = await sent.then(() => undefined, problemOf);
    await refresh();
    return problem;
  };
  return {
    ...chat,
    ...{ state, refresh, ...openOf(state) },
    ...viewOf(page, failure, chat.messages),
    goOn: () => machine.tell("told"),
    async stop() {
      machine.tell("stopped");
      await chat.stop();
    },
    clearError() {
      machine.tell("cleared");
      chat.clearError();
    },
    answer: (responses, { id: call, round }) => ask({ answer: { call, round, responses } }),
    addToolApprovalResponse: ({ id, approved, reason }) =>
      chat.sendMessage(undefined, { body: { approval: { id, approved, reason } } }),
    withdraw: ({ id: call }) => ask({ withdraw: { call } }),
    stopAnswer: () => ask({ stop: true }),
  };
}
