export { isWaiting } from "./waiting/stop-when-waiting.ts";
export {
  type StoppedWhenWaiting,
  stopWhenWaiting,
  type StopWhenWaitingOptions,
} from "./waiting/stop-when-waiting.ts";
export type { ApplicationEvent, EventObserver, OnEvent } from "./events/application-event.ts";
export type { ConnectionEvent } from "./events/connection-event.ts";
export type { EventStep } from "./events/step-events.ts";
export type {
  ConnectionOperation,
  ConnectionOperationDetails,
  ConnectionTelemetry,
  StoreOperation,
} from "./events/connection-telemetry.ts";
export { createDurableSessions } from "./sessions/create-durable-sessions.ts";
export type { DurableAgentCallOptions, DurableAgentSession } from "./agent/agent-sessions.ts";
export {
  createDurableAgent,
  type DurableAgent,
  type DurableAgentSettings,
  type DurableAgentTools,
} from "./agent/durable-agent.ts";
export { createDurableAgentUIStreamResponse } from "./agent/durable-agent-ui-stream.ts";
export type { OpenDurableAgent } from "./agent/open-durable-agent.ts";
export type {
  DurableSessions,
  DurableSessionsOptions,
  SessionUse,
  SharedId,
} from "./sessions/durable-sessions.ts";
export type {
  DurableSessionsAdmin,
  SessionOwner,
  SweepAuthorization,
} from "./sessions/sessions-admin.ts";
export type { OpenRun } from "./sessions/open-run.ts";
export type { Streamed } from "./run/read-to-end.ts";
export type {
  EndedSession,
  SessionPage,
  SessionSelection,
  SessionStatus,
  CarriedSession,
  ConnectionInfo,
  ConnectionStatus,
  StoredSession,
} from "./slots/session-reports.ts";
export type {
  ConnectionProvider,
  ConnectionProviderOptions,
  StateRunOptions,
  StateRunResult,
} from "./sessions/connection-provider.ts";
export { createConnectionProvider } from "./sessions/create-connection-provider.ts";
export type { ConnectionPoolOptions } from "./pool/process-pool.ts";
export type { AutoSessionOptions, StoredAutoSessionOptions } from "./run/auto-session.ts";
export type {
  ConnectionRun,
  NamedSession,
  NamedSessions,
  RunOptions,
} from "./run/connection-registry.ts";
export type {
  AnswerOptions,
  ResumedMessages,
  WaitingRegistry,
} from "./waiting/waiting-registry.ts";
export type { CallOptions } from "./tools/call-tool.ts";
export type { ReadyOptions } from "./run/wait-until-ready.ts";
export {
  currentConnections,
  type CurrentConnectionsOptions,
  withConnections,
  type WithConnectionsOptions,
} from "./sessions/current-connections.ts";
export type { ConnectionMode } from "./run/run-scope.ts";
export type { ConnectionToolSet } from "./tools/connection-tool-set.ts";
export type { ConnectionContext } from "./connection/connection-context.ts";
export type {
  ConnectionStart,
  ConnectionToken,
  GetToken,
  McpClientConnectionOptions,
  RefusedToken,
  StatefulSessionOptions,
  TokenContext,
} from "./connection/connection-options.ts";
export type { PausingInput } from "./connection/input-options.ts";
export type {
  ToolApprovalCall,
  ToolApprovalStatus,
  ToolCallContext,
} from "./connection/tool-call-options.ts";
export type { ToolProgress } from "./connection/call-progress.ts";
export type {
  ConnectionToolSchemas,
  ProvidedArgument,
  ProvidedArgumentContext,
} from "./connection/tool-options.ts";
export {
  defineMcpClientConnection,
  type McpClientConnection,
} from "./connection/define-connection.ts";
export { fromMcpServers } from "./configuration/from-mcp-servers.ts";
export type { McpServersOptions } from "./configuration/read-mcp-servers.ts";
export type { McpConnection } from "./connection/mcp-connection.ts";
export {
  createPrincipals,
  McpSessionError,
  type McpSessionErrorCode,
  type Principal,
  type Principals,
  type UnavailableReason,
} from "@durable-mcp/core";
