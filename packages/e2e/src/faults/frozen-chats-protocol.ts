import type { StorePlace } from "../durable/store-place.ts";
import type { Call, Chat, StepPlan } from "./chat.ts";
import type { Times } from "./waits.ts";

/** What a process is told that is going to be frozen: its store, then steps of agent sessions, all at once. */
export type FrozenChatsTask =
  | {
      readonly type: "open";
      readonly place: StorePlace;
      readonly url: string;
      /** Of the connection and the sessions. */
      readonly times: Times;
    }
  | {
      readonly type: "step";
      readonly ids: readonly string[];
      readonly plan: Pick<StepPlan, "calls" | "atOnce" | "reads">;
      /** The operation of the store at which the process freezes itself, once; such as `put`. */
      readonly freezesAt?: string;
    };

/** What it says. */
export type FrozenChatsReport =
  | { readonly type: "ready" }
  | { readonly type: "freezing" }
  | { readonly type: "stepped"; readonly chats: readonly ToldChat[] };

/** What became of a chat so far. An error is there as its code and its message. */
export interface ToldChat extends Pick<Chat, "log" | "faults" | "notes"> {
  readonly id: string;
  readonly calls: readonly (Omit<Call, "outcome"> & { readonly outcome: ToldOutcome })[];
}

type ToldOutcome =
  | { readonly type: "answered"; readonly answer: string }
  | { readonly type: "not answered"; readonly code: string; readonly words: string };
