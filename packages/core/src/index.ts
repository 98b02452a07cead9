export { createSessionFetch } from "./create-session-fetch.ts";
export type { RefusedAnswer, SessionLoss } from "./session/lost-session.ts";
export {
  type ConnectionFailureReason,
  type UnavailableReason,
  McpSessionError,
  type McpSessionErrorCode,
  type McpSessionErrorData,
} from "./base/mcp-session-error.ts";
export type { JsonRpcRequest } from "./wire/json-rpc.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./stores/memory-store.ts";
export {
  createPrincipals,
  type Principal,
  principalParts,
  type Principals,
  sessionKey,
} from "./session/principal.ts";
export type { SessionEvent, ToolChanges } from "./session/session-event.ts";
export type {
  AroundRecovery,
  LossPolicy,
  OnSession,
  RecoveryOptions,
  RecoveryOutcome,
  OnStart,
  ResendPolicy,
  SecondSession,
  SessionFetchOptions,
  SessionStart,
  ToolListOptions,
} from "./session/session-fetch-options.ts";
export { createSessionSlot, sessionFailure, type SessionSlot } from "./session/session-slot.ts";
export {
  type InitializeResult,
  parseSessionSnapshot,
  type SessionSnapshot,
  type ActiveSessionSnapshot,
  type SessionlessSnapshot,
  type KeptResult,
  type StatelessSnapshot,
  type ToolDefinition,
  type ToolList,
} from "./session/session-snapshot.ts";
export type {
  JsonValue,
  SessionStore,
  StoreBatchAnswer,
  StoreBatchWrite,
  StoreConflict,
  StoredRecord,
  StoredValue,
  StoreListQuery,
  StorePage,
  StorePutOptions,
} from "./stores/session-store.ts";
export { endSession, type EndSessionOptions, type SessionEnd } from "./handshake/end-session.ts";
