export { checkInputResponses } from "./questions/check-input-responses.ts";
export type {
  ElicitationRequest,
  FormField,
  FormQuestion,
  FormSchema,
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
  UrlQuestion,
} from "./questions/input-request.ts";
export {
  type AgentToolCall,
  type AskingMethod,
  type WaitingAuthorization,
  type WaitingCall,
  waitingCallOf,
  type WaitingEntry,
  type WaitingResult,
  type WaitingState,
  type WaitingType,
} from "./record/waiting-call.ts";
export {
  type AnsweredCall,
  answerWaitingCall,
  type AnswerWaitingCallOptions,
  checkWaitingCalls,
  type CheckWaitingCallsOptions,
  createWaitingCalls,
  type WaitingCalls,
  type WaitingCallsOptions,
} from "./waiting-calls.ts";
export type {
  CallNotKeptEvent,
  CannotWaitEvent,
  ClaimLeg,
  WaitingCallEvent,
  WaitingEvent,
} from "./claims/waiting-context.ts";
export type { NewsType } from "./record/inbox.ts";
export type { WaitingLimits, WaitsFor } from "./record/waiting-limits.ts";
export type { AnswerUnsureEvent } from "./legs/unsure-answers.ts";
