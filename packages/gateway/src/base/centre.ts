// All that the gateway has of the package of sessions.

export type { DurableSessions, McpClientConnection, OnEvent } from "@durable-mcp/sessions";
export { createConnectionFetch, openStoredFetch } from "@durable-mcp/sessions/internal";
export { createDurableSessions as createSessionsOfAny } from "@durable-mcp/sessions";
