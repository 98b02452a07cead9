/**
 * What the packages of frameworks need of sessions, beside what all may use. Not for applications: it may change with
 * every release, and all packages are released together.
 */

export { checkOptions, checkOwnOptions, optionalOptions } from "./base/check-options.ts";
export { deleteAll } from "./base/delete-all.ts";
export { inParallel } from "./base/in-parallel.ts";
export { loadedLater } from "./base/loaded-later.ts";
export { ownField } from "./base/own-field.ts";
export { resultsInContext } from "./base/results-in-context.ts";
export type { ObserveProgress } from "./connection/call-progress.ts";
export { clientInfo } from "./connection/client-capabilities.ts";
export { createConnectionFetch } from "./connection/connection-fetch.ts";
export { sentScrubber } from "./connection/connection-secrets.ts";
export type { LossNotice } from "./connection/loss-notice.ts";
export { mayRunTwice, redefine, waitingLimits } from "./declare/define-connection.ts";
export { hasSlot, requireDeclared } from "./declare/mcp-connection.ts";
export {
  type ProgramUse,
  type RunningProgram,
  startProgram,
} from "./declare/stdio-connection-options.ts";
export { createTeller } from "./events/application-event.ts";
export { emitUnavailable, pathHint } from "./events/connection-error.ts";
export { createBoundedStore } from "./records/bounded-store.ts";
export { type InspectedRecord, operateStore } from "./records/operator-records.ts";
export { type ListedRecord, parseRecordOwner } from "./records/slot-record.ts";
export { runInternalsOf } from "./run/run-internals.ts";
export { currentScope, type RunScope } from "./run/run-scope.ts";
export { checkConnections } from "./sessions/check-connections.ts";
export type { StoredSessionsOptions } from "./management/durable-sessions.ts";
export { openStoredFetch } from "./sessions/open-session-fetch.ts";
export { durableSessionsFields } from "./sessions/option-schemas.ts";
export { type ChatsContext, chatsContextOf } from "./sessions/sessions-context.ts";
export { secretValues } from "./stdio/server-environment.ts";
export type { ListTools } from "./tools/offer-tools.ts";
export { offeredToolOf } from "./tools/offered-tool.ts";
export { withoutCollisions } from "./tools/same-names.ts";
export { type AgentInTool, beginAgent, currentToolCall } from "./tools/tool-call-scope.ts";
export { mayWait, pendingSignIns } from "./waiting/sign-in.ts";
export { executeInRun, withAgentName } from "./waiting/sub-agents.ts";
export type { ListedCall } from "./waiting/waiting-records.ts";
