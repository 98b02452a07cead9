/**
 * The parts of waiting calls that the other packages of this project share. Not for applications: they may change
 * with every release, and all packages are released together.
 */
export { answerCall } from "./answer-call.ts";
export { formProblem } from "./form-problem.ts";
export {
  type ClaimedOutcome,
  markUntilEnd,
  sendClaimed,
  settleCall,
  tooLongToWait,
} from "./claim.ts";
export { agentCall, type AgentsWaiting, findParked, keepAgentCall, parkCall } from "./park-call.ts";
export { callId, hasDigest, showCall, upToDate } from "./current-call.ts";
export { answered, withdrawCall } from "./waiting-calls.ts";
export { createWaitingContext, type WaitingContext } from "./waiting-context.ts";
export {
  askedElsewhere,
  goneCall,
  needsSignIn,
  notPausing,
  notWaiting,
  onlyOfUser,
  waitingFailure,
  waitsBelow,
  worksOn,
} from "./waiting-failure.ts";
export type { CallNotes } from "./call-notes.ts";
export { createWaitingFetch } from "./waiting-fetch.ts";
export {
  dueKey,
  followLook,
  listDue,
  listOpenCalls,
  readDue,
  referenceStart,
} from "./due-calls.ts";
export { answerOnServer, cancelHeld, isDue, lookAt } from "./held-call.ts";
export { delivers, isHeld, isOpen, isOnServer, isRepeated } from "./waiting-life.ts";
export {
  describeWaiting,
  parseWaitingRecord,
  type AgentCall,
  type ParkedCall,
  type WaitingAnswer,
  type WaitingRecord,
} from "./waiting-record.ts";
export { createWaitingStore, isNewerCall, type StoredCall } from "./waiting-store.ts";
