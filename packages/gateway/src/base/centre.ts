// All that the gateway has of the package of sessions.

export type { DurableSessionsAdmin, McpClientConnection, OnEvent } from "@durable-mcp/sessions";
export {
  clientInfo,
  createConnectionFetch,
  mayRunTwice,
  openStoredFetch,
  redefine,
  waitingLimits,
} from "@durable-mcp/sessions/internal";
export { createDurableSessions } from "@durable-mcp/sessions";
