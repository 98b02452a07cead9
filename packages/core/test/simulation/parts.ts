import { createSessionFetch, createSessionSlot, endSession, sessionKey } from "../../src/index.ts";
import {
  answerWaitingCall,
  checkWaitingCalls,
  createWaitingCalls,
  waitingCallOf,
} from "../../src/waiting/index.ts";
import { createKeptCalls, createWaitingStore } from "../../src/waiting/internal.ts";

/** What a schedule runs: core as it is, or with a part broken on purpose. */
export interface Parts {
  readonly createSessionFetch: typeof createSessionFetch;
  readonly createSessionSlot: typeof createSessionSlot;
  readonly sessionKey: typeof sessionKey;
  readonly endSession: typeof endSession;
  readonly waiting: {
    readonly answerWaitingCall: typeof answerWaitingCall;
    readonly checkWaitingCalls: typeof checkWaitingCalls;
    readonly createWaitingCalls: typeof createWaitingCalls;
    readonly waitingCallOf: typeof waitingCallOf;
    readonly createKeptCalls: typeof createKeptCalls;
    readonly createWaitingStore: typeof createWaitingStore;
  };
}

export const realParts: Parts = {
  createSessionFetch,
  createSessionSlot,
  sessionKey,
  endSession,
  waiting: {
    answerWaitingCall,
    checkWaitingCalls,
    createWaitingCalls,
    waitingCallOf,
    createKeptCalls,
    createWaitingStore,
  },
};
