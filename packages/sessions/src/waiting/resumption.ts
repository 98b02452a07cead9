import type { WaitingCall, WaitingResult } from "@durable-mcp/core/waiting";
import type { KeptAs, LiveConnection } from "../connection/live-connection.ts";
import type { AgentsInTool } from "../tools/tool-call-scope.ts";
import type { RepeatedCalls } from "./repeats.ts";
import type { StoredCalls } from "./stored-calls.ts";

/** A place in a conversation where a call's result is missing, because the call waits. */
export interface WaitingPlace {
  /** The id of the waiting call. Messages come from browsers: it may be anybody's, or nobody's. */
  readonly id: string;
  /** Whether its call repeats one that waits. */
  readonly repeats?: true | undefined;
  readonly toolCallId: string;
  /** The tool's name for the model. */
  readonly toolName: string;
  /** The arguments as the model gave them; `undefined` where the call is not known. */
  readonly input: unknown;
}

/** What takes a place: nothing as long as its call waits, or the placeholder anew; a result; or the reason why there is none. */
export type PlaceEnd =
  | { readonly state: "waits"; readonly placeholder?: WaitingResult }
  | {
      readonly state: "over";
      readonly output: unknown;
      /** Whether it is the server's own result, which no tool has made its output of. */
      readonly isOfServer: boolean;
      /** For the model, of the loss of a session. */
      readonly notice?: string | undefined;
    }
  | { readonly state: "failed"; readonly error: unknown };

/** A conversation, as it is before a step. */
export interface Conversation extends Pick<AgentsInTool, "waitingIn"> {
  readonly places: readonly WaitingPlace[];
  /** All tools of the step, by their names for the model, as the run's face makes them. */
  readonly tools: Readonly<Record<string, object>>;
  /** Those of the model, if it goes on: its calls join those that they repeat. */
  readonly messages?: readonly unknown[] | undefined;
  /** Whether the calls that still wait are taken back, or the model goes on beside them. @default neither */
  readonly stillWaiting?: "join" | "withdraw" | undefined;
}

export interface ResumedPlaces {
  /** For each place. */
  readonly ends: readonly PlaceEnd[];
  /** The calls whose placeholders are still there. */
  readonly stillWaiting: readonly WaitingCall[];
  /** The calls that have a result, or the reason why there is none. */
  readonly resumed: readonly WaitingCall[];
  /** Tells a model that calls are over; empty if none is. */
  readonly landing: string;
}

/** A run's part in a conversation in which calls wait. */
export interface Resumption {
  /** Looks up the calls of these places, each once, goes on with those that can, and makes their results. */
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
  readonly connections: readonly LiveConnection[];
  readonly repeats: RepeatedCalls;
  /** A connection for a use; `undefined` for one that is not the run's. */
  readonly findOpen: (name: string) => LiveConnection | undefined;
  readonly onSession: OnSession;
  readonly signal: AbortSignal;
}
