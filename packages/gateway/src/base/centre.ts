// All that the gateway has of the package of sessions.

export type { DurableSessions, McpClientConnection, OnEvent } from "@durable-mcp/ai-sdk";
export {
  createConnectionFetch,
  createSessionsOfAny,
  openStoredFetch,
} from "@durable-mcp/ai-sdk/internal";
