import type { StorePlace } from "../durable/store-place.ts";
import type { AnswerKillPoint } from "./answer-kill-points.ts";

/** What a process that is going to be killed is told. */
export interface KilledAnswerTask {
  readonly place: StorePlace;
  readonly url: string;
  readonly sessionId: string;
  readonly point: AnswerKillPoint;
  /** The waiting call, and the round that is answered. */
  readonly id: string;
  readonly round: number;
}

/** What it says: that it has loaded its code, and that it is at its point. */
export type KilledAnswerReport = { readonly type: "ready" | "reached" };
