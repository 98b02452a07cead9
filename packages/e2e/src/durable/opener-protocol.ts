import type { StorePlace } from "./store-place.ts";

/** What an opener process is told. */
export type OpenerTask =
  | {
      readonly type: "start";
      readonly url: string;
      readonly place: StorePlace;
      readonly shared: string | undefined;
    }
  | {
      readonly type: "round";
      readonly sessionId: string;
      /** Whether the session is there, and is going to be lost. */
      readonly loss: boolean;
      /** Where the processes meet: before they open or call, or when each has a session to save. */
      readonly meetAt: "start" | "save";
      readonly note: string;
    }
  | { readonly type: "go" }
  | { readonly type: "end" };

/** What it says. */
export type OpenerReport =
  | { readonly type: "waiting" }
  | { readonly type: "done"; readonly adopted: boolean; readonly events: readonly string[] };
