import type { StorePlace } from "../durable/store-place.ts";

/** What a process that is going to be killed is told: its store, then agent sessions to work in, for ever. */
export type KilledCallsTask =
  | { readonly type: "open"; readonly place: StorePlace }
  | { readonly type: "work"; readonly url: string; readonly sessionIds: readonly string[] };

/** What it says as it goes on. `text` is the note of one call. */
export type KilledCallsReport =
  | { readonly type: "ready" }
  | { readonly type: "calling"; readonly sessionId: string; readonly text: string }
  | {
      readonly type: "answered";
      readonly sessionId: string;
      readonly text: string;
      readonly answer: string;
    }
  | { readonly type: "event"; readonly sessionId: string; readonly event: string };
