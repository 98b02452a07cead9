export { loadSessionTools, type SessionToolsOptions } from "./load-session-tools.ts";
export type { WaitingInterrupt } from "./pausing-call.ts";

// Connections, with clients of the official SDK.
export {
  defineMcpClientConnection,
  fromMcpServers,
  type McpClientConnectionOptions,
  type McpServersOptions,
} from "./client/define-connections.ts";

// Of `@durable-mcp/sessions`: sessions, runs, users, and errors.
export {
  type ConnectionProvider,
  type ConnectionProviderOptions,
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  createPrincipals,
  currentConnections,
  type DurableSessions,
  type DurableSessionsOptions,
  McpSessionError,
  type Principal,
  withConnections,
} from "@durable-mcp/sessions";
