/**
 * The parts of waiting calls that the other packages of this project share. Not for applications: they may change
 * with every release, and all packages are released together.
 */
export type { ClaimedOutcome } from "./claims/claim.ts";
export { callId, type CallIdentity, hasInput } from "./claims/current-call.ts";
export type { AgentsWaiting } from "./claims/park-call.ts";
export type { WaitingContext } from "./claims/waiting-context.ts";
export type { AskServer } from "./legs/watched-resource.ts";
export type { StoredNews } from "./record/inbox.ts";
export { createKeptCalls, type KeptCalls } from "./kept-calls.ts";
export { formProblem } from "./questions/form-problem.ts";
export { openCalls } from "./record/due-calls.ts";
export {
  goneCall,
  notAsked,
  notPausing,
  notWaiting,
  waitingFailure,
} from "./record/waiting-failure.ts";
export { describeWaiting } from "./record/describe-waiting.ts";
export {
  parseWaitingRecord,
  type AgentCall,
  type ParkedCall,
  type WaitingAnswer,
  type WatchCall,
  type WaitingRecord,
} from "./record/waiting-record.ts";
export { createWaitingStore, isNewerCall, type StoredCall } from "./record/waiting-store.ts";
export type { CallNotes } from "./steps/call-notes.ts";
