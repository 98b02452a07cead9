import type { UIMessage } from "ai";
import type { Failure } from "./retry.ts";
import type { WaitingState } from "./use-waiting.ts";

/** A chat, as a route of yours gives it. It may have more members. */
export interface DurableChatState<MESSAGE extends UIMessage = UIMessage> extends WaitingState {
  /** All messages, as the server has them. */
  readonly messages: MESSAGE[];
}

/** The states of a page. A read, the end of a POST or a timer leads on from each, from `failed` a person. */
export type PageName =
  /** Nothing is known of the chat. */
  | "loading"
  /** Nothing is done. At `dueAt` the agent goes on. */
  | "ready"
  /** A POST is open. It is left if two looks speak against it. */
  | "posting"
  /** A POST is over, or a message seems to have no answer: the next read tells. */
  | "checking"
  /** Another page or process makes an answer. */
  | "following"
  /** A POST goes out once more at `dueAt`. */
  | "pausing"
  | "failed";

/** What a page knows and is at. */
export interface Page<MESSAGE extends UIMessage = UIMessage> {
  readonly at: PageName;
  /** What the server said last. */
  readonly state?: DurableChatState<MESSAGE> | undefined;
  /** What was said here, as long as nothing tells that the server has it. */
  readonly unsent?: MESSAGE | undefined;
  readonly failure?: Failure | undefined;
  /** How often the page has tried with `triedWith`, by itself. */
  readonly attempts: number;
  readonly triedWith?: string | undefined;
  /** What the agent went on for last. */
  readonly wentOnFor?: string | undefined;
  /** How often it has gone on for that, or is to, to look at a server's work. */
  readonly looks: number;
  /** Looks in a row that speak against what the page is at. */
  readonly doubts: number;
  readonly postedAt: number;
  /** Whether the route has taken the open POST. */
  readonly isTaken?: boolean | undefined;
  /** Whether the last POST has brought an answer to its end, or its user has stopped reading. */
  readonly isWhole?: boolean | undefined;
  /** When the page does something, in milliseconds since 1970. */
  readonly dueAt?: number | undefined;
}

/** What a page has to do: a POST, a read, leaving the open POST, showing its messages. */
export type PageEffect = "post" | "look" | "leave" | "show";

/** What becomes of a page, and what it does. */
export type Step<MESSAGE extends UIMessage> = [page: Page<MESSAGE>, effects: readonly PageEffect[]];

export interface Moment {
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
}

/** Whether the server has a message. */
export const has = (
  { messages }: Pick<DurableChatState, "messages">,
  message: UIMessage | undefined,
) => messages.some(({ id }) => id === message?.id);
