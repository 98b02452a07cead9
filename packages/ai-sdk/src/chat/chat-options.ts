import type { Principal } from "@durable-mcp/core";
import type { WaitingEntry } from "@durable-mcp/core/waiting";
import type { UIMessage } from "ai";
import type { DurableAgent } from "../agent/durable-agent.ts";
import type { createDurableAgentUIStreamResponse } from "../agent/durable-agent-ui-stream.ts";

/** A chat of a user. */
export interface Chat {
  readonly id: string;
  readonly principal: Principal;
}

/** A chat as a page gets it: what `useDurableChat` of `@durable-mcp/react` takes as `initialState`. */
export interface ChatState<MESSAGE extends UIMessage = UIMessage> {
  /** What was said, as far as it is saved: the user's messages at once, an answer after each of its steps. */
  readonly messages: MESSAGE[];
  /**
   * Whether a process makes an answer. `interrupted`: it is gone, and the page goes on by itself. `failed`: the answer
   * ended with an error, and its user goes on.
   */
  readonly answering: "no" | "yes" | "interrupted" | "failed";
  readonly waiting: readonly WaitingEntry[];
}

type Awaitable<T> = T | PromiseLike<T>;

/** The messages of chats, in a table of the application. */
export interface ChatHistory<MESSAGE extends UIMessage = UIMessage> {
  /** What was saved last; nothing for a chat that there is not. A chat's id may be anybody's: ask for its user's. */
  load(chat: Chat): Awaitable<readonly MESSAGE[]>;
  /**
   * Saves all messages, in their order, in place of earlier ones: those that are there by their `id` have perhaps
   * changed. With none, the chat is over.
   */
  save(chat: Chat, messages: readonly MESSAGE[]): Awaitable<void>;
}

/** Options of `createChatRoute`. */
export interface ChatRouteOptions<
  MESSAGE extends UIMessage = UIMessage,
  MORE extends object = object,
> {
  readonly agent: DurableAgent<any, any, any, any, any>;
  /** Your sign-in: whose request it is. `undefined`: nobody's, which is answered with 401. */
  readonly principal: (request: Request) => Awaitable<Principal | undefined>;
  /** Which chat a request is for. Users have chats of their own, so any text will do. @default the last part of the URL's path */
  readonly chat?: ((request: Request) => Awaitable<string>) | undefined;
  /** @default the agent's store, until `sessions.end` of the chat */
  readonly messages?: ChatHistory<MESSAGE> | undefined;
  /** What is kept of the parts of a user's message, up to 500,000 characters of JSON. @default texts */
  readonly acceptParts?: ((parts: UIMessage["parts"]) => UIMessage["parts"]) | undefined;
  /** More for the page, beside {@link ChatState}. @default nothing */
  readonly more?: ((chat: Chat) => Awaitable<MORE>) | undefined;
  /** The agent's own call options, and `endsAt`. @default none */
  readonly options?: ((chat: Chat, request: Request) => Awaitable<object>) | undefined;
  /** Options of `createDurableAgentUIStreamResponse` for what the page reads, such as `sendReasoning`. @default none */
  readonly stream?:
    | Pick<
        Parameters<typeof createDurableAgentUIStreamResponse<any, any, any, any, any>>[0],
        "messageMetadata" | "sendReasoning" | "sendSources" | "experimental_transform"
      >
    | undefined;
  /**
   * Gets errors that end an answer or a request, for your log. What it returns is for the page.
   * @default warns on the console, with no more than the error's name and code
   */
  readonly onError?: ((error: unknown) => string | void) | undefined;
  /** Of a platform that stops a function when its response is sent. @default none */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** A process that gives no sign of life for so long is gone, in milliseconds. @default 10000 */
  readonly aliveMs?: number | undefined;
}

/** The handlers of a chat's URL, for Next.js, Hono, or whatever answers a `Request` with a `Response`. */
export interface ChatRoute<MESSAGE extends UIMessage = UIMessage, MORE extends object = object> {
  /** The chat as JSON; with `accept: text/event-stream` the answer that this process makes, or 204. */
  readonly GET: (request: Request) => Promise<Response>;
  /** Takes `{ message }`, `{}` to go on, `{ approval }`, `{ answer }`, `{ withdraw }` or `{ stop: true }`. */
  readonly POST: (request: Request) => Promise<Response>;
  /** Ends the chat: its messages, waiting calls and MCP sessions. */
  readonly DELETE: (request: Request) => Promise<Response>;
  /** What GET answers with, for a page that is made on the server. @throws {McpSessionError} `STORE_FAILED` */
  read(chat: string, use: { readonly principal: Principal }): Promise<ChatState<MESSAGE> & MORE>;
  /**
   * Has the agent go on, as `{}` does, for a worker that has seen news or a result (`check`). `options` gets a request
   * that says nothing.
   *
   * @returns whether there was something to go on with, when the answer has ended
   * @throws as the agent
   */
  goOn(chat: string, use: { readonly principal: Principal }): Promise<boolean>;
}
