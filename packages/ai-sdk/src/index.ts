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
export type {
  McpClientConnection,
  McpConnection,
  ConnectionContext,
  ConnectionToken,
  GetToken,
  RefusedToken,
  TokenContext,
  ToolApprovalCall,
  ToolApprovalStatus,
  ToolCallContext,
  ProvidedArgument,
  ProvidedArgumentContext,
} from "@durable-mcp/sessions";

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
export type { DurableSessionsOptions, SessionUse } from "@durable-mcp/sessions";
export { type OpenSessionFetch, openSessionFetch } from "@durable-mcp/sessions";
export type {
  OpenSessionFetchOptions,
  SessionAuthorization,
  SessionOwner,
  DurableSessionsAdmin,
  OperatorSelection,
  CheckedCall,
  DueCalls,
  DueReference,
  OpenCall,
  OperatedCall,
  OperatedCalls,
  OperatorName,
  EndedSession,
  SessionPage,
  SessionSelection,
  SessionStatus,
  SharedId,
  CarriedSession,
  ConnectionInfo,
  ConnectionStatus,
  StoredSession,
  ConnectionProviderOptions,
  StateRunOptions,
  StateRunResult,
  ConnectionPoolOptions,
  AutoSessionOptions,
  StoredAutoSessionOptions,
} from "@durable-mcp/sessions";

// A run: what a step gets.
export {
  type ConnectionRun,
  currentConnections,
  type NamedSessions,
  type OpenRun,
  withConnections,
} from "./face/connection-run.ts";
export type { NamedSession, CallOptions } from "@durable-mcp/sessions";
export type { ConnectionToolSet } from "./tool-set/connection-tool-set.ts";
export type { ReadyOptions, RunOptions, Streamed } from "@durable-mcp/sessions";
export type {
  CurrentConnectionsOptions,
  WithConnectionsOptions,
  ConnectionMode,
} from "@durable-mcp/sessions";

// Calls that wait.
export {
  isWaiting,
  type StoppedWhenWaiting,
  stopWhenWaiting,
  type StopWhenWaitingOptions,
  type WhileWaiting,
} from "./messages/stop-when-waiting.ts";
export type { ResumedMessages, RunWaiting } from "./messages/run-waiting.ts";
export type { AnswerOptions, NewsEntry, Watched, WatchOptions } from "@durable-mcp/sessions";
export { type NewsUIPart, tellNews } from "./messages/news.ts";

// Events and telemetry.
export type {
  ApplicationEvent,
  EventObserver,
  OnEvent,
  ConnectionEvent,
  EventStep,
  ConnectionOperation,
  ConnectionOperationDetails,
  ConnectionTelemetry,
  StoreOperation,
} from "@durable-mcp/sessions";

// Of `@durable-mcp/core`: users, and errors.
export {
  createPrincipals,
  McpSessionError,
  type McpSessionErrorCode,
  type Principal,
  type Principals,
  type UnavailableReason,
} from "@durable-mcp/core";
