// Connections: what is declared, and what makes their clients.
export type {
  CallToolResult,
  ClientConfig,
  ClientErrorParts,
  ClientOpener,
  LoginProvider,
  McpClient,
} from "./base/mcp-client.ts";
export {
  defineMcpClientConnection,
  type McpClientConnection,
} from "./declare/define-connection.ts";
export { type McpServersOptions, readMcpServers } from "./declare/from-mcp-servers.ts";
export type {
  ConnectionStart,
  McpClientConnectionOptions,
  StatefulSessionOptions,
} from "./declare/connection-options.ts";
export type { Connections, McpConnection } from "./declare/mcp-connection.ts";
export type { ConnectionContext } from "./declare/connection-context.ts";
export type {
  ConnectionToken,
  GetToken,
  RefusedToken,
  TokenContext,
} from "./declare/credential-options.ts";
export type {
  ConnectionToolSchemas,
  ProvidedArgument,
  ProvidedArgumentContext,
  ToolApprovalCall,
  ToolApprovalStatus,
  ToolCallContext,
  ToolNamePrefix,
} from "./declare/tool-options.ts";

// Sessions: in a store, or in state that the application carries.
export { createConnectionProvider } from "./create/create-connection-provider.ts";
export { createDurableSessions } from "./create/create-durable-sessions.ts";
export type {
  ConnectionProvider,
  ConnectionProviderOptions,
  StateRunOptions,
  StateRunResult,
} from "./sessions/connection-provider.ts";
export type {
  DurableSessions,
  DurableSessionsOptions,
  SessionUse,
} from "./management/durable-sessions.ts";
export { type OpenSessionFetch, openSessionFetch } from "./sessions/open-session-fetch.ts";
export type { OpenSessionFetchOptions } from "./sessions/session-fetch-options.ts";
export type { SessionAuthorization, SessionOwner } from "./management/selected-records.ts";
export type { DurableSessionsAdmin, OperatorSelection } from "./management/sessions-admin.ts";
export type { CheckedCall, DueCalls, DueReference } from "./management/due-calls.ts";
export type {
  OpenCall,
  OperatedCall,
  OperatedCalls,
  OperatorName,
} from "./management/operated-calls.ts";
export type {
  CarriedSession,
  ConnectionInfo,
  ConnectionStatus,
  EndedSession,
  SessionPage,
  SessionSelection,
  SessionStatus,
  SharedId,
  StoredSession,
} from "./records/session-reports.ts";
export type { ConnectionPoolOptions } from "./run/process-pool.ts";
export type { AutoSessionOptions, StoredAutoSessionOptions } from "./run/run-options.ts";

// A run: what a step gets, and what a framework's package makes of it.
export type { ConnectionRun, NamedSession, NamedSessions } from "./run/connection-run.ts";
export type { RunHold } from "./sessions/open-run.ts";
export type { FacedRun, ResumeOptions, ToolFace } from "./run/tool-face.ts";
export type { OfferedTool, ToolUse } from "./tools/offered-tool.ts";
export type { CallOptions } from "./tools/call-tool.ts";
export type { ReadyOptions, RunOptions } from "./run/run-options.ts";
export type { Streamed } from "./run/read-to-end.ts";
export {
  currentConnections,
  type CurrentConnectionsOptions,
  withConnections,
  type WithConnectionsOptions,
} from "./sessions/current-connections.ts";
export type { ConnectionMode } from "./run/run-scope.ts";
export type { AnswerOptions, RunWaiting } from "./waiting/run-waiting.ts";
export type { NewsEntry, RunWatches, Watched, WatchOptions } from "./waiting/watches.ts";
export type { PlaceEnd, Resumption, WaitingPlace } from "./waiting/resumption.ts";

// Events and telemetry.
export type { ApplicationEvent, EventObserver, OnEvent } from "./events/application-event.ts";
export type { ConnectionEvent } from "./events/connection-event.ts";
export type { EventStep } from "./events/step-events.ts";
export type {
  ConnectionOperation,
  ConnectionOperationDetails,
  ConnectionTelemetry,
  StoreOperation,
} from "./events/connection-telemetry.ts";

// Of `@durable-mcp/core`: users, and errors.
export {
  createPrincipals,
  McpSessionError,
  type McpSessionErrorCode,
  type Principal,
  type Principals,
  type UnavailableReason,
} from "@durable-mcp/core";
