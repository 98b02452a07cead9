import { createSessionFetch, createSessionSlot, sessionKey, endSession } from "../../src/index.ts";

/** What a schedule runs: core as it is, or with a part broken on purpose. */
export interface Parts {
  readonly createSessionFetch: typeof createSessionFetch;
  readonly createSessionSlot: typeof createSessionSlot;
  readonly sessionKey: typeof sessionKey;
  readonly endSession: typeof endSession;
}

export const realParts: Parts = {
  createSessionFetch,
  createSessionSlot,
  sessionKey,
  endSession,
};
