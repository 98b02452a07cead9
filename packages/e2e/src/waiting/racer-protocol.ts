import type { StorePlace } from "../durable/store-place.ts";

/** What a process is told that answers at the same time as another one. */
export type RacerTask =
  | { readonly type: "start"; readonly place: StorePlace; readonly url: string }
  | { readonly type: "race"; readonly sessionId: string; readonly id: string }
  | { readonly type: "go" };

/** What it says: that it waits for the other one, or what became of its answer (a state or an error's code). */
export type RacerReport =
  | { readonly type: "waiting" }
  | { readonly type: "done"; readonly outcome: string };
