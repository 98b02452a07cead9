/**
 * The parts of waiting calls that the other packages of this project share. Not for applications: they may change
 * with every release, and all packages are released together.
 */
export { answerCall } from "./claims/answer-call.ts";
export { formProblem } from "./questions/form-problem.ts";
export {
  type ClaimedOutcome,
  markUntilEnd,
  sendClaimed,
  settleCall,
  tooLongToWait,
} from "./claims/claim.ts";
export {
  agentCall,
  type AgentsWaiting,
  findParked,
  keepAgentCall,
  parkCall,
} from "./claims/park-call.ts";
export { callId, hasDigest, showCall, upToDate } from "./claims/current-call.ts";
export { answered, withdrawCall } from "./waiting-calls.ts";
export { createWaitingContext, type WaitingContext } from "./claims/waiting-context.ts";
export {
  goneCall,
  needsSignIn,
  notPausing,
  notWaiting,
  onlyOfUser,
  waitingFailure,
  worksOn,
} from "./record/waiting-failure.ts";
export type { CallNotes } from "./steps/call-notes.ts";
export { createWaitingFetch } from "./steps/waiting-fetch.ts";
export { dueKey, dueCallsOf, listOpenCalls, referenceStart } from "./record/due-calls.ts";
export { answerOnServer, cancelHeld, isDue, lookAt } from "./claims/held-call.ts";
export { delivers, isHeld, isOpen, isOnServer, isRepeated } from "./record/waiting-life.ts";
export {
  describeWaiting,
  parseWaitingRecord,
  type AgentCall,
  type ParkedCall,
  type WaitingAnswer,
  type WaitingRecord,
} from "./record/waiting-record.ts";
export { createWaitingStore, isNewerCall, type StoredCall } from "./record/waiting-store.ts";
