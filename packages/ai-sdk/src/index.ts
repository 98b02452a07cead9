export type { ConnectionEvent } from "./connection-event.ts";
export {
  type ConnectionProvider,
  type ConnectionProviderOptions,
  createConnectionProvider,
} from "./connection-provider.ts";
export type { ConnectionRegistry } from "./connection-registry.ts";
export type { ConnectionToolSet } from "./connection-tool-set.ts";
export {
  type ConnectionContext,
  type ConnectionStart,
  type ConnectionToken,
  type ConnectionToolSchemas,
  defineMcpClientConnection,
  type McpClientConnection,
  type McpClientConnectionOptions,
  type StatefulSessionOptions,
} from "./define-connection.ts";
export type { McpConnection } from "./mcp-connection.ts";
export type { TerminateConnectionResult } from "./terminate-connections.ts";
export { McpSessionError, type McpSessionErrorCode, type Principal } from "@durable-mcp/core";
