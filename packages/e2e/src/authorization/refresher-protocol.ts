import type { StorePlace } from "../durable/store-place.ts";
import type { NotesUse } from "./notes-application.ts";

/** What a process is told that needs a token at the same time as others. */
export type RefresherTask =
  | { readonly type: "start"; readonly place: StorePlace }
  /** Asks once, or signs in first, and says when it is where all meet. */
  | ({ readonly type: "race" } & Race)
  | { readonly type: "go" }
  /** Asks all the time. */
  | {
      readonly type: "load";
      readonly use: NotesUse;
      readonly everyMs: number;
      readonly untilMs: number;
    };

export interface Race {
  readonly use: NotesUse;
  readonly meets: Meeting;
  /** @default false */
  readonly isSignIn?: boolean;
}

/** Where all wait for each other: before they read anything, or when each is about to claim what one of them has to do. */
type Meeting = "start" | "claim";

/** What it says. */
export type RefresherReport =
  | { readonly type: "waiting" }
  | { readonly type: "done"; readonly outcome: string; readonly ms: number }
  | ({ readonly type: "loaded" } & LoadReport);

/** What became of the requests of one process. */
export interface LoadReport {
  readonly requests: number;
  /** How often there was no token to send. */
  readonly bare: number;
  /** Those that were not answered with the user. */
  readonly failures: readonly string[];
  readonly slowestMs: number;
  /** For each token, by its digest: its end, in milliseconds since 1970-01-01 UTC. */
  readonly tokens: Readonly<Record<string, number>>;
  /** How often a token was got after its end. */
  readonly stale: number;
}
