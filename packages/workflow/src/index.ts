export {
  openDurableConnections,
  type DurableConnections,
  type OpenDurableConnectionsOptions,
} from "./run/open-durable-connections.ts";
export type { RunTool } from "./tool/run-tool.ts";
export type {
  CallRequest,
  CallResult,
  ConnectionStepFunctions,
  SessionsRequest,
  SessionsResult,
  WaitingRequest,
  WaitingStep,
} from "./step-protocol.ts";
export { McpSessionError, type McpSessionErrorCode, type Principal } from "@durable-mcp/core";
