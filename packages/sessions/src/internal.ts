/**
 * What the packages of frameworks need of sessions, beside what all may use. Not for applications: it may change with
 * every release, and all packages are released together.
 */

export {
  abortSignal,
  anything,
  checkOptions,
  checkOwnOptions,
  endsAt,
  eventObserver,
  flag,
  isFunction,
  names,
  onUnavailable,
  optionalOptions,
  someFunction,
  someObject,
  text,
  timeout,
  wholeNumber,
} from "./base/check-options.ts";
export { deleteAll } from "./base/delete-all.ts";
export { inParallel } from "./base/in-parallel.ts";
export { loadedLater } from "./base/loaded-later.ts";
export { ownField } from "./base/own-field.ts";
export { isAsyncIterable, resultsInContext } from "./base/results-in-context.ts";
export { notReplayed } from "./connection/call-envelope.ts";
export { reportProgress } from "./connection/call-progress.ts";
export { clientInfo } from "./connection/client-capabilities.ts";
export { createConnectionFetch } from "./connection/connection-fetch.ts";
export { secretsOfUrl } from "./connection/connection-secrets.ts";
export type { LiveConnection } from "./connection/live-connection.ts";
export type { LossNotice } from "./connection/loss-notice.ts";
export { endpointOf, mayRunTwice, waitingLimits } from "./declare/define-connection.ts";
export { findDeclared, hasSession, hasSlot, notDeclared } from "./declare/mcp-connection.ts";
export type { JudgedTool } from "./declare/tool-options.ts";
export { createTeller } from "./events/application-event.ts";
export {
  authorizationRequired,
  connectionUnavailable,
  emitUnavailable,
  isTold,
  pathHint,
  runOver,
} from "./events/connection-error.ts";
export { secretScrubber } from "./events/scrub-secrets.ts";
export { createBoundedStore } from "./records/bounded-store.ts";
export { chatPrefix, chatRecordsOwner } from "./records/chat-records.ts";
export { removeRecord } from "./records/end-record.ts";
export { endForOperator, type InspectedRecord, inspectRecord } from "./records/operator-records.ts";
export {
  leastIdleMs,
  type ListedRecord,
  parseRecordOwner,
  recordOwner,
} from "./records/slot-record.ts";
export { listRecords } from "./records/stored-records.ts";
export { currentScope, enterScope, runNested, type RunScope } from "./run/run-scope.ts";
export { runInternalsOf } from "./run/use-connections.ts";
export { checkConnections } from "./sessions/check-connections.ts";
export type { StoredSessionsOptions } from "./management/durable-sessions.ts";
export { openStoredFetch } from "./sessions/open-session-fetch.ts";
export { ownProviderFields, someStore, storedSessionsFields } from "./sessions/option-schemas.ts";
export { type SessionsContext, sessionsContextOf } from "./sessions/sessions-context.ts";
export { secretValues } from "./stdio/server-environment.ts";
export { boundedCall, ownResult, progressObserver } from "./tools/call-tool.ts";
export { offeredTools } from "./tools/offered-tools.ts";
export { withoutProvided } from "./tools/provided-arguments.ts";
export { connectionOf, withoutCollisions } from "./tools/same-names.ts";
export { describeStandIn, signInWords, standInName } from "./tools/stand-in-words.ts";
export {
  createToolApproval,
  refuseUnapproved,
  unapproved,
  whileAllowed,
} from "./tools/tool-approval.ts";
export {
  type AgentInTool,
  around,
  beginAgent,
  currentToolCall,
  followToolCalls,
  markWaiting,
  pathAround,
  pathOf,
  sayThatTheyWait,
  waitBelow,
} from "./tools/tool-call-scope.ts";
export { plainToolName, prefixOf, toolName } from "./tools/tool-name.ts";
export type { ResumeParts } from "./waiting/create-run-waiting.ts";
export { resultsIn } from "./waiting/lost-calls.ts";
export { joinRepeats, landingText } from "./waiting/repeats.ts";
export { isAgentCall, resumeAgentCall } from "./waiting/resume-agent-call.ts";
export { isParked, resumeParked } from "./waiting/resume-parked.ts";
export { mayWait, pendingSignIns } from "./waiting/sign-in.ts";
export {
  isOpen,
  type LoadedWaiting,
  loadWaiting,
  type StoredCalls,
  unlessOver,
} from "./waiting/stored-calls.ts";
export { agentNameOf, keepAgents, withAgentName } from "./waiting/sub-agents.ts";
export { deleteUnusedCalls, type ListedCall } from "./waiting/waiting-records.ts";
