// All that the gateway has of the package of sessions.

export type {
  DurableSessionsAdmin,
  McpClientConnection,
  McpConnection,
  OnEvent,
} from "@durable-mcp/sessions";
export type { McpStdioConnection } from "@durable-mcp/sessions/stdio";
export {
  checkConnections as checkDeclared,
  clientInfo,
  createBoundedStore,
  createConnectionFetch,
  mayRunTwice,
  openStoredFetch,
  redefine,
  startProgram,
  waitingLimits,
} from "@durable-mcp/sessions/internal";
export { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/sessions";
