/**
 * Functions that other packages of this project need to put a run's connections behind clients of
 * their own. Not for applications: they may change with every release, and all packages are released
 * together.
 */

export {
  anything,
  checkOptions,
  checkOwnOptions,
  names,
  onUnavailable,
  optionalOptions,
  someFunction,
  eventObserver,
  someObject,
  text,
  wholeNumber,
} from "./base/check-options.ts";
export { clientInfo } from "./connection/client-capabilities.ts";
export { openStoredFetch } from "./sessions/open-session-fetch.ts";
export { createConnectionFetch } from "./http/connection-fetch.ts";
export { createDurableSessions as createSessionsOfAny } from "./sessions/create-durable-sessions.ts";
export { checkConnections } from "./sessions/check-connections.ts";
export { secretsOfUrl } from "./connection/connection-secrets.ts";
export { secretScrubber } from "./events/scrub-secrets.ts";
export { secretValues } from "./stdio/server-environment.ts";
export { someStore } from "./sessions/option-schemas.ts";
export { connectionUnavailable, pathHint } from "./events/connection-error.ts";
export { emitUnavailable, isTold } from "./events/connection-error.ts";
export { createTeller } from "./events/application-event.ts";
export { offeredTools } from "./tools/offered-tools.ts";
export { boundedCall } from "./tools/call-tool.ts";
export {
  endpointOf,
  type McpClientConnection,
  waitingLimits,
  mayRunTwice,
} from "./connection/define-connection.ts";
export { mayWait, pendingSignIns } from "./waiting/sign-in.ts";
export { findDeclared, hasSession, hasSlot, notDeclared } from "./connection/mcp-connection.ts";
export type { LossNotice } from "./connection/loss-notice.ts";
export type { LiveConnection } from "./connection/live-connection.ts";
export { withoutProvided } from "./tools/provided-arguments.ts";
export { refuseUnapproved, unapproved, whileAllowed } from "./tools/tool-approval.ts";
export { standInFor } from "./tool-set/stand-in-tool.ts";
export { toolName } from "./tools/tool-name.ts";
export { withoutCollisions } from "./tools/same-names.ts";
export { runInternalsOf } from "./run/use-connections.ts";
export { describeStandIn, signInWords, standInName } from "./tools/stand-in-words.ts";
export { isParked, resumeParked } from "./waiting/resume-parked.ts";
export { removeRecord } from "./records/end-record.ts";
export { endForOperator, type InspectedRecord, inspectRecord } from "./records/operator-records.ts";
export { leastIdleMs, type ListedRecord, parseRecordOwner } from "./records/slot-record.ts";
export { recordOwner } from "./records/slot-record.ts";
export { listRecords } from "./records/stored-records.ts";
export { inParallel } from "./base/in-parallel.ts";
export { createBoundedStore } from "./records/bounded-store.ts";
export { deleteUnusedCalls, type ListedCall } from "./waiting/waiting-records.ts";
