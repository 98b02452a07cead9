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
export { createDurableSessions } from "./durable/create-durable-sessions.ts";
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
} from "./durable/durable-sessions.ts";
export type {
  DurableSessionsAdmin,
  SessionOwner,
  SweepAuthorization,
} from "./durable/durable-sessions-admin.ts";
export type { OpenRun } from "./durable/open-run.ts";
export type { Streamed } from "./streams/read-to-end.ts";
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
} from "./provider/connection-provider.ts";
export { createConnectionProvider } from "./durable/create-connection-provider.ts";
export type { ConnectionPoolOptions } from "./pool/process-pool.ts";
export type { AutoSessionOptions, StoredAutoSessionOptions } from "./registry/auto-session.ts";
export type {
  ConnectionRun,
  NamedSession,
  NamedSessions,
  RunOptions,
} from "./registry/connection-registry.ts";
export type {
  AnswerOptions,
  ResumedMessages,
  WaitingRegistry,
} from "./waiting/waiting-registry.ts";
export type { CallOptions } from "./tools/call-tool.ts";
export type { ReadyOptions } from "./registry/wait-until-ready.ts";
export {
  currentConnections,
  type CurrentConnectionsOptions,
  withConnections,
  type WithConnectionsOptions,
} from "./runs/current-connections.ts";
export type { ConnectionMode } from "./registry/run-scope.ts";
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
