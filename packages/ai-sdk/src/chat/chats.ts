import { McpSessionError } from "@durable-mcp/core";
import type { WaitingEntry } from "@durable-mcp/core/waiting";
import type { UIMessage, UIMessageChunk } from "ai";
import type { ChatsContext } from "@durable-mcp/sessions/internal";
import { answerChat } from "./answer-chat.ts";
import { createAnswers, type FoundAnswer } from "./answer-record.ts";
import type { Chat, ChatRouteOptions, ChatState } from "./chat-options.ts";
import { ChatProblem } from "./chat-requests.ts";
import type { LiveStream } from "./live-stream.ts";
import {
  type Approval,
  hasMessage,
  isAnswered,
  needsApproval,
  withAnswer,
  withApproval,
  withoutApprovals,
} from "./settle-messages.ts";
import { createStoredMessages } from "./stored-messages.ts";

/** What the user wants answered; nothing: the agent shall go on. */
interface Asked {
  readonly said?: UIMessage | undefined;
  readonly approval?: Approval | undefined;
}

/** An answer that this process makes. */
interface LiveAnswer {
  readonly by: string;
  /** The user's message that it began with. */
  readonly said: string | undefined;
  readonly stream: LiveStream<UIMessageChunk>;
}

/** Requests in a row that change a chat at the same time. */
const maxTries = 10;

/** The chats of an agent, in its store. */
export function createChats(
  options: Omit<ChatRouteOptions, "principal" | "chat">,
  context: ChatsContext,
) {
  const { agent, onError = warn, aliveMs = 10_000 } = options;
  /** By the start of the chats' keys. */
  const live = new Map<string, LiveAnswer>();

  const open = async (chat: Chat) =>
    await openChat(chat, context, { messages: options.messages, aliveMs });

  const waitingOf = async ({ id, principal }: Chat) =>
    await agent.sessions.waiting(id, { principal });

  /** The chat as a page gets it. */
  async function read(chat: Chat): Promise<ChatState> {
    const { answers, stored } = await open(chat);
    // Before the messages: an answer that ends in between is in them.
    const found = await answers.find();
    const [saved, waiting, more] = await Promise.all([
      stored.load(),
      waitingOf(chat),
      options.more?.(chat),
    ]);
    const messages = [...withAnswer(saved, found, waiting)];
    const { state = "no" } = found ?? {};
    // One whose process ended right after its last save.
    const isDone = state !== "yes" && isAnswered(messages);
    return { ...more, messages, answering: isDone ? "no" : state, waiting };
  }

  /** Answers what the user has said, or goes on. @throws {ChatProblem} */
  async function answer(chat: Chat, asked: Asked, request: Request) {
    const { prefix, answers, stored } = await open(chat);
    for (let tries = 0; tries < maxTries; tries += 1) {
      const found = await answers.find();
      if (found?.state === "yes") {
        const own = live.get(prefix);
        if (asked.said && own?.by === found.by && own.said === asked.said.id) return own.stream;
        break;
      }
      const mayWait = found ?? isToGoOn(asked);
      const [saved, waiting] = await Promise.all([stored.load(), mayWait ? waitingOf(chat) : []]);
      const before = withAnswer(saved, found, waiting);
      const messages = nextMessages(before, { ...asked, news: waiting.some(hasNews) }, found);
      const unsaved = messages.filter((each) => each.role === "user" && !hasMessage(saved, each));
      const claimed = await answers.claim(found, unsaved);
      if (claimed === undefined) continue;
      const stream = await answerChat({
        ...{ agent, answer: claimed, messages, stream: options.stream },
        isCutOff: found !== undefined,
        save: async (all) => await stored.save(all),
        options: async () => ({
          ...(await options.options?.(chat, request)),
          ...{ sessionId: chat.id, principal: chat.principal },
        }),
        onError: (error) => onError(error) ?? brokenOff,
      });
      const own = { by: claimed.by, said: asked.said?.id, stream };
      live.set(prefix, own);
      const ended = stream.ended.then(() => void (live.get(prefix) === own && live.delete(prefix)));
      options.waitUntil?.(ended);
      return stream;
    }
    throw new ChatProblem("answering");
  }

  return {
    read,
    answer,
    stop: async (chat: Chat) => await (await open(chat)).answers.stop(),
    /** The answer that this process makes, if a page may read it from its beginning. */
    async resume(chat: Chat) {
      const own = live.get((await open(chat)).prefix);
      // A page has more than the beginning of one that goes on in an earlier message.
      return own?.said === undefined ? undefined : own.stream;
    },
    onError,
  };
}

const isToGoOn = ({ said, approval }: Asked) => said === undefined && approval === undefined;
/** Whether a watch has found something. */
const hasNews = (entry: WaitingEntry) => "news" in entry && entry.news !== 0;

const brokenOff = "The answer broke off. The log of the server says why.";

/** Where a chat is kept. */
async function openChat(
  chat: Chat,
  { store, now, chatOf }: ChatsContext,
  { messages: own, aliveMs }: Pick<ChatRouteOptions, "messages"> & { readonly aliveMs: number },
) {
  const { prefix, owner } = await chatOf(chat.id, chat.principal);
  const stored = own
    ? {
        load: async () => await own.load(chat),
        save: async (all: readonly UIMessage[]) => await own.save(chat, all),
      }
    : createStoredMessages(store, { prefix, owner });
  const answers = createAnswers(store, { key: `${prefix}answer`, owner, now, aliveMs });
  return { prefix, answers, stored };
}

/** The messages that an answer begins with. @throws {ChatProblem} if there is nothing to answer */
function nextMessages(
  messages: readonly UIMessage[],
  { said, approval, news }: Asked & { readonly news?: boolean },
  found: FoundAnswer | undefined,
): readonly UIMessage[] {
  if (approval) {
    const approved = withApproval(messages, approval);
    if (approved === undefined) throw new ChatProblem("not-waiting");
    return nextMessages(approved, {}, found);
  }
  // An approval is the user's, and the news come with it or later.
  if (said === undefined && news && !needsApproval(messages)) return messages;
  const at = messages.findIndex(({ id }) => id === said?.id);
  if (said !== undefined && at === -1) return [...withoutApprovals(messages), said];
  const isLast = at === messages.findLastIndex(({ role }) => role === "user");
  const hasAnswer = found === undefined && at < messages.length - 1;
  if (isAnswered(messages) || (said !== undefined && (!isLast || hasAnswer)))
    throw new ChatProblem("answered");
  return messages;
}

function warn(error: unknown): undefined {
  const name = error instanceof Error ? error.name : typeof error;
  const code = McpSessionError.isInstance(error) ? ` ${error.code}` : "";
  console.warn(`[durable-mcp] A chat's request or answer failed: ${name}${code}.`);
}
