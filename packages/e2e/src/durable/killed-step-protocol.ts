import type { KillPoint } from "./kill-points.ts";
import type { StorePlace } from "./store-place.ts";

/** What a step that is going to be killed is told. */
export interface KilledStepTask {
  readonly place: StorePlace;
  readonly url: string;
  readonly sessionId: string;
  readonly point: KillPoint;
  readonly note: string;
}

/** What it says: that it has loaded its code, and that it is at its point. */
export type KilledStepReport = { readonly type: "ready" | "reached" };
