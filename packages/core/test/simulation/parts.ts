import {
  createSessionFetch,
  createSessionSlot,
  sessionKey,
  terminateSession,
} from "../../src/index.ts";

/** What a schedule runs: core as it is, or with a part broken on purpose. */
export interface Parts {
  readonly createSessionFetch: typeof createSessionFetch;
  readonly createSessionSlot: typeof createSessionSlot;
  readonly sessionKey: typeof sessionKey;
  readonly terminateSession: typeof terminateSession;
}

export const realParts: Parts = {
  createSessionFetch,
  createSessionSlot,
  sessionKey,
  terminateSession,
};
