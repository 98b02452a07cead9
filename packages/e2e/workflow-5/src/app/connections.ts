import { defineMcpClientConnection, type McpConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { createConnectionSteps } from "@durable-mcp/workflow/steps";

// Bundles have copies of this module.
const settings = globalThis as { workflow5TestConnections?: Record<string, McpConnection> };

/** What a test sets for the steps of its runs, which are in the same process. */
export function setConnections(connections: Record<string, McpConnection>): void {
  settings.workflow5TestConnections = connections;
}

/** In a process of its own the server comes from the environment. */
function declared(): Record<string, McpConnection> {
  const askingUrl = process.env["ASKING_URL"];
  if (askingUrl !== undefined) {
    const shop = { url: askingUrl, description: "A shop.", waiting: true } as const;
    return { shop: defineMcpClientConnection(shop) };
  }
  const url = process.env["NOTEBOOK_URL"];
  if (url === undefined) return settings.workflow5TestConnections ?? {};
  const session = "stateful";
  return { notes: defineMcpClientConnection({ url, description: "Notes.", session }) };
}

const path = process.env["STORE_PATH"];

export const steps = createConnectionSteps({
  connections: declared,
  ...(path !== undefined && { store: createSqliteStore({ path }) }),
  keys: { current: "a2V5IGZvciB0aGUgdGVzdHMgb2YgdGhlIHdvcmtmbG8" },
});
