export type { ConnectionEvent } from "./connection-event.ts";
export type {
  ConnectionOperation,
  ConnectionOperationDetails,
  ConnectionTelemetry,
} from "./connection-telemetry.ts";
export { createDurableSessions } from "./create-durable-sessions.ts";
export {
  createDurableAgent,
  type DurableAgent,
  type DurableAgentCallOptions,
  type DurableAgentSession,
  type DurableAgentSettings,
  type DurableAgentTools,
} from "./durable-agent.ts";
export { createDurableAgentUIStreamResponse } from "./durable-agent-ui-stream.ts";
export type { OpenDurableAgent } from "./open-durable-agent.ts";
export type { DurableSessionEvent } from "./durable-session-event.ts";
export type {
  DurableSessions,
  DurableSessionsOptions,
  SessionSelection,
  SessionTools,
  SessionUse,
} from "./durable-sessions.ts";
export type { AttachableResult, SessionLease } from "./session-lease.ts";
export type {
  DurableSessionsAdmin,
  SessionOwner,
  SweepAuthorization,
  SweptSession,
} from "./sessions-admin.ts";
export type { EndedSession, SessionPage, SessionStatus, StoredSession } from "./stored-session.ts";
export {
  type ConnectionProvider,
  type ConnectionProviderOptions,
  createConnectionProvider,
} from "./connection-provider.ts";
export type { ConnectionPoolOptions } from "./connection-pool.ts";
export type { AutoSessionOptions } from "./auto-session.ts";
export type {
  EndedNamedSession,
  NamedSession,
  NamedSessionConnection,
  NamedSessions,
} from "./named-sessions.ts";
export type { ConnectionRegistry, RunOptions } from "./connection-registry.ts";
export type { CallOptions } from "./call-tool.ts";
export type { ReadyOptions } from "./wait-until-ready.ts";
export {
  connectionTools,
  currentConnections,
  type CurrentConnectionsOptions,
} from "./current-connections.ts";
export type { ConnectionMode } from "./run-scope.ts";
export { withConnections, type WithConnectionsOptions } from "./with-connections.ts";
export type { ConnectionToolSet } from "./connection-tool-set.ts";
export type { ConnectionToken, McpClientConnectionOptions } from "./client-connection-options.ts";
export type { ConnectionContext, ConnectionToolSchemas } from "./connection-options.ts";
export { defineMcpClientConnection, type McpClientConnection } from "./define-connection.ts";
export type { ConnectionStart, StatefulSessionOptions } from "./session-options.ts";
export {
  encryptStore,
  type EncryptStoreOptions,
  type UnreadableValueReason,
} from "./encrypted-store.ts";
export {
  sealState,
  type SealStateOptions,
  type SealStateResult,
  type SealedStateOptions,
  unsealState,
  type UnsealStateReason,
  type UnsealStateResult,
} from "./sealed-state.ts";
export type { SealingKey, SealingKeys } from "./sealing-keys.ts";
export { toolMayRunTwice } from "./may-run-twice.ts";
export type { McpConnection } from "./mcp-connection.ts";
export type { TerminateConnectionResult } from "./terminate-connections.ts";
export { McpSessionError, type McpSessionErrorCode, type Principal } from "@durable-mcp/core";
