// All that the gateway has of the package of sessions.

export type { DurableSessions, McpClientConnection, OnEvent } from "@durable-mcp/ai-sdk";
export {
  connectTimeoutMs,
  createConnectionFetch,
  createSessionsOfAny,
  createStepEvents,
  loadStoredSlot,
  sessionsContextOf,
} from "@durable-mcp/ai-sdk/internal";
