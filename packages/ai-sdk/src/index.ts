// Connections: what is declared.
export {
  type ConnectionStart,
  type ConnectionToolSchemas,
  defineMcpClientConnection,
  fromMcpServers,
  type McpClientConnectionOptions,
  type McpServersOptions,
  type StatefulSessionOptions,
} from "./client/define-connections.ts";
export type { McpClientConnection } from "./connection/define-connection.ts";
export type { McpConnection } from "./connection/mcp-connection.ts";
export type { ConnectionContext } from "./connection/connection-context.ts";
export type {
  ConnectionToken,
  GetToken,
  RefusedToken,
  TokenContext,
} from "./connection/credential-options.ts";
export type {
  ToolApprovalCall,
  ToolApprovalStatus,
  ToolCallContext,
  ProvidedArgument,
  ProvidedArgumentContext,
} from "./connection/tool-options.ts";

// An agent: all of a step without further code.
export {
  createDurableAgent,
  type DurableAgent,
  type DurableAgentSettings,
  type DurableAgentTools,
} from "./agent/durable-agent.ts";
export type { DurableAgentCallOptions, DurableAgentSession } from "./agent/agent-sessions.ts";
export { type AgentHistory, agentTool, type AgentToolOptions } from "./agent/agent-tool.ts";
export type { OpenDurableAgent } from "./agent/open-durable-agent.ts";
export { createDurableAgentUIStreamResponse } from "./agent/durable-agent-ui-stream.ts";
export { createChatRoute } from "./chat/chat-route.ts";
export type {
  Chat,
  ChatHistory,
  ChatRoute,
  ChatRouteOptions,
  ChatState,
} from "./chat/chat-options.ts";

// Sessions: in a store, or in state that the application carries.
export {
  type ConnectionProvider,
  createConnectionProvider,
  createDurableSessions,
  type DurableSessions,
} from "./face/durable-sessions.ts";
export type { DurableSessionsOptions, SessionUse } from "./sessions/durable-sessions.ts";
export { type OpenSessionFetch, openSessionFetch } from "./sessions/open-session-fetch.ts";
export type { OpenSessionFetchOptions } from "./sessions/session-fetch-options.ts";
export type { SessionAuthorization, SessionOwner } from "./sessions/selected-records.ts";
export type { DurableSessionsAdmin, OperatorSelection } from "./sessions/sessions-admin.ts";
export type { CheckedCall, DueCalls, DueReference } from "./sessions/due-calls.ts";
export type {
  OpenCall,
  OperatedCall,
  OperatedCalls,
  OperatorName,
} from "./sessions/operated-calls.ts";
export type {
  EndedSession,
  SessionPage,
  SessionSelection,
  SessionStatus,
  SharedId,
  CarriedSession,
  ConnectionInfo,
  ConnectionStatus,
  StoredSession,
} from "./slots/session-reports.ts";
export type {
  ConnectionProviderOptions,
  StateRunOptions,
  StateRunResult,
} from "./sessions/connection-provider.ts";
export type { ConnectionPoolOptions } from "./run/process-pool.ts";
export type { AutoSessionOptions, StoredAutoSessionOptions } from "./run/run-options.ts";

// A run: what a step gets.
export type { ConnectionRun, NamedSessions, OpenRun } from "./face/connection-run.ts";
export type { NamedSession } from "./run/connection-run.ts";
export type { CallOptions } from "./tools/call-tool.ts";
export type { ConnectionToolSet } from "./tool-set/connection-tool-set.ts";
export type { ReadyOptions, RunOptions } from "./run/run-options.ts";
export type { Streamed } from "./run/read-to-end.ts";
export { currentConnections, withConnections } from "./face/current-connections.ts";
export type {
  CurrentConnectionsOptions,
  WithConnectionsOptions,
} from "./sessions/current-connections.ts";
export type { ConnectionMode } from "./run/run-scope.ts";

// Calls that wait.
export {
  isWaiting,
  type StoppedWhenWaiting,
  stopWhenWaiting,
  type StopWhenWaitingOptions,
  type WhileWaiting,
} from "./messages/stop-when-waiting.ts";
export type { ResumedMessages, RunWaiting } from "./messages/run-waiting.ts";
export type { AnswerOptions } from "./waiting/run-waiting.ts";

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
