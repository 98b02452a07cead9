import type { McpConnection } from "@durable-mcp/ai-sdk";
import { createConnectionSteps } from "@durable-mcp/workflow/steps";

// Bundles have copies of this module.
const settings = globalThis as { workflow5TestConnections?: Record<string, McpConnection> };

/** What a test sets for the steps of its runs, which are in the same process. */
export function setConnections(connections: Record<string, McpConnection>): void {
  settings.workflow5TestConnections = connections;
}

export const steps = createConnectionSteps({
  connections: () => settings.workflow5TestConnections ?? {},
  keys: { current: "a2V5IGZvciB0aGUgdGVzdHMgb2YgdGhlIHdvcmtmbG8" },
});
