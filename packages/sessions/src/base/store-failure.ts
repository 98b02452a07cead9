import { McpSessionError } from "@durable-mcp/core";

/** Whether the store failed, and nothing else. */
export function isStoreFailure(error: unknown): boolean {
  return McpSessionError.isInstance(error) && error.code === "STORE_FAILED";
}
