import type { RunConnection } from "../connection/run-connection.ts";
import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { KeptAs, LiveConnection } from "../connection/live-connection.ts";
import type { RepeatedCalls } from "./repeats.ts";
import type { StoredCalls } from "./stored-calls.ts";
import type { NewsEntry } from "./watches.ts";

/** A place in a conversation where a call's result is missing, because the call waits. */
export interface WaitingPlace {
  /** The placeholder's `waitingCallOf(…).id`. Messages come from browsers: it may be anybody's, or nobody's. */
  readonly id: string;
  /** The same call's `repeats`: whether it repeats one that waits. */
  readonly repeats?: true | undefined;
  /** As `call` of the tool got it. */
  readonly toolCallId: string;
  /** The tool's name for the model. */
  readonly toolName: string;
  /** The arguments as the model gave them; `undefined` where the call is not known. */
  readonly input: unknown;
}

/** What takes a place: nothing as long as its call waits, or the placeholder anew; a result; or the reason why there is none. */
export type PlaceEnd =
  | {
      readonly state: "waits";
      /** Takes the place of the old one. */
      readonly placeholder?: WaitingResult;
    }
  | {
      readonly state: "over";
      /** As `call` of the tool gives it. */
      readonly output: unknown;
      /** Whether it is the server's own result, which no tool has made its output of. */
      readonly isOfServer: boolean;
      /** For the model, beside the result: of the loss of a session. */
      readonly notice?: string | undefined;
    }
  | {
      readonly state: "failed";
      /** Its text is for the model. */
      readonly error: unknown;
    };

/** A conversation, as it is before a step. */
export interface Conversation {
  readonly places: readonly WaitingPlace[];
  /** All tools of the step, by their names for the model, as the run's face makes them. */
  readonly tools: Readonly<Record<string, object>>;
  /** The ids of the calls that wait in the messages of an agent in a tool. @default none, for a framework without them */
  readonly waitingIn?: ((messages: readonly any[]) => readonly string[]) | undefined;
  /** Those of the model, where it may go on while calls wait: with them its calls can be told from those of dead steps. */
  readonly messages?: readonly unknown[] | undefined;
  /** Whether the messages get the news of watches, too. @default false: they wait for `news` of the run */
  readonly takesNews?: boolean | undefined;
  /**
   * What becomes of the calls that still wait. `"join"`, with `messages`: the model goes on beside them, and a call that
   * repeats one is not sent, but gets a placeholder and the same result. `"withdraw"`: they are taken back.
   * @default the agent waits, too
   */
  readonly stillWaiting?: "join" | "withdraw" | undefined;
}

export interface ResumedPlaces {
  /** One for each place, in the order of `places`. */
  readonly ends: readonly PlaceEnd[];
  /** The calls whose placeholders are still there. */
  readonly stillWaiting: readonly WaitingCall[];
  /** The calls that have a result, or the reason why there is none. */
  readonly resumed: readonly WaitingCall[];
  /** With `takesNews`: what watches have found, for the root agent. */
  readonly news: readonly NewsEntry[];
  /** Tells a model that calls are over; empty if none is. */
  readonly landing: string;
}

/** A run's part in a conversation in which calls wait. */
export interface Resumption {
  /**
   * Looks up the calls of these places, each once, goes on with those that can, and makes their results.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  resume(conversation: Conversation): Promise<ResumedPlaces>;
}

/** Calls `use` with a connection on its named or shared session. */
export type OnSession = <T>(
  connection: string,
  session: KeptAs,
  use: (found: LiveConnection) => Promise<T>,
) => Promise<T>;

export interface ResumeParts {
  /** `undefined` where no call can wait. */
  readonly stored: StoredCalls | undefined;
  readonly connections: readonly RunConnection[];
  readonly repeats: RepeatedCalls;
  /** A connection for a use; `undefined` for one that is not the run's. */
  readonly findOpen: (name: string) => LiveConnection | undefined;
  readonly onSession: OnSession;
  readonly news: () => Promise<NewsEntry[]>;
  readonly signal: AbortSignal;
}
