export type { AroundRecovery, RecoveryOutcome } from "./around-recovery.ts";
export { createSessionFetch } from "./create-session-fetch.ts";
export type { OnSession } from "./handshake.ts";
export type { RefusedAnswer, SessionLoss } from "./lost-session.ts";
export {
  McpSessionError,
  type McpSessionErrorCode,
  type McpSessionErrorData,
} from "./mcp-session-error.ts";
export type { JsonRpcRequest } from "./json-rpc.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./memory-store.ts";
export { type Principal, principalParts } from "./principal.ts";
export type { ResendPolicy } from "./resend-policy.ts";
export type { SessionEvent } from "./session-event.ts";
export type { SessionFetchOptions } from "./session-fetch-options.ts";
export { sessionFailure } from "./session-failure.ts";
export { sessionKey } from "./session-key.ts";
export { createSessionSlot, type SessionSlot } from "./session-slot.ts";
export type { OnStart, SessionStart } from "./start-hook.ts";
export {
  type InitializeResult,
  parseSessionSnapshot,
  type SessionSnapshot,
  type SessionSnapshotLost,
  type SessionSnapshotOfSession,
  type SessionSnapshotSessionless,
  type SessionSnapshotStateless,
  type ToolDefinition,
  type ToolList,
} from "./session-snapshot.ts";
export type {
  JsonValue,
  SessionStore,
  StoreConflict,
  StoredRecord,
  StoredValue,
  StoreListQuery,
  StorePage,
  StorePutOptions,
} from "./session-store.ts";
export {
  terminateSession,
  type TerminateSessionOptions,
  type TerminateSessionResult,
} from "./terminate-session.ts";
export type { ToolListOptions } from "./tool-list.ts";
