/**
 * Functions that the other packages of this project share with core. Not for applications: they may
 * change with every release, and all packages are released together.
 */
export {
  abortable,
  anySignal,
  combineSignals,
  detach,
  maxTimerMs,
  noAnswer,
  onAbort,
  startLimit,
  timeLimited,
  wait,
  within,
  withTimeLimit,
} from "./base/bounded-wait.ts";
export { checkedClock, invalid, invalidOption, type OptionCheck } from "./base/check-option.ts";
export {
  checkKnown,
  nearestName,
  type OptionGroup,
  type OptionKind,
  type OptionKinds,
} from "./base/known-options.ts";
export * as shape from "./base/shape.ts";
export type { Shaped } from "./base/shape.ts";
export { isPlainRecord, isRecord, sameJson } from "./base/json-values.ts";
export { tryInsistently } from "./base/bounded-wait.ts";
export { oneLine, plainText, unprintable } from "./base/plain-text.ts";
export { guarded, warnOnce } from "./base/observe.ts";
export { randomToken } from "./base/random-token.ts";
export { checkKeys } from "./sealing/sealed-text.ts";
export { isTooLong, maxBatch } from "./stores/store-arguments.ts";
export { writeBatch } from "./stores/write-batch.ts";
export { setBounded } from "./base/bounded-map.ts";
export { textDigest } from "./base/text-digest.ts";
export { serverLimits } from "./base/server-limits.ts";
export { createScrubber, scrubJson } from "./base/scrub-text.ts";
export {
  classifyLoss,
  mayFollowWork,
  refusesUnprocessed,
  saysUnknown,
} from "./session/lost-session.ts";
export { createSessionPipe } from "./create-session-fetch.ts";
export { refusingTasks } from "./session/task-answer.ts";
export type { Answer, SendMessage } from "./session/session-context.ts";
export { isLost, LATEST_SESSION_VERSION, snapshotParser } from "./session/session-snapshot.ts";
export { type ManagedSlot, manageSlot } from "./tools/manage-slot.ts";
export { toolsIn } from "./tools/snapshot-tools.ts";
export { compareTools } from "./tools/compare-tools.ts";
export { listTools } from "./tools/list-tools.ts";
export { createHostCheck } from "./wire/allowed-hosts.ts";
export { BodyNotRead, readBody } from "./wire/read-body.ts";
export { type BearerChallenge, bearerChallenge } from "./wire/bearer-challenge.ts";
export { sendWithToken, type TokenProof } from "./wire/bound-token.ts";
export { oauthKeys } from "./session/oauth-keys.ts";
export {
  type ConnectionFailure,
  connectionFailure,
  mayHaveRun,
} from "./wire/connection-failure.ts";
export { isSafeQuestion, urlsWanted } from "./waiting/questions/input-request.ts";
export { waitingCallOf, waitingResult, withoutMarks } from "./waiting/record/waiting-call.ts";
export { waitingKeys } from "./waiting/record/waiting-key.ts";
export { waitingLimitChecks } from "./waiting/record/waiting-limits.ts";
export type { JsonRpcId, JsonRpcMessage, JsonRpcResponse } from "./wire/json-rpc.ts";
export type { LastingClient } from "./session/lasting-client.ts";
export { parseMessages, revisionIn } from "./wire/json-rpc.ts";
export { isNewerFormat, newerFormat } from "./session/snapshot-shape.ts";
export { createEventSplitter, eventText } from "./wire/event-splitter.ts";
export { innerFetch, lastFetch } from "./wire/last-fetch.ts";
export {
  isEventStream,
  letGo,
  readAnswer,
  readRefusal,
  readText,
  rewriteRefusal,
} from "./wire/read-answer.ts";
export { discoveringEra } from "./handshake/discover-era.ts";
export { asksFor, sendingSafeAgain } from "./wire/safe-requests.ts";
export { scrubSessionId } from "./wire/scrub-session-id.ts";
export { isRedirect, refusingRedirects } from "./wire/server-endpoint.ts";
