import { McpSessionError } from "@durable-mcp/core";
import { withoutCause } from "../errors/connection-error.ts";

/** A store's failure as an event may carry it. */
export function storeFailed(operation: string, cause: unknown): McpSessionError {
  if (McpSessionError.isInstance(cause)) return withoutCause(cause);
  // A store that is not one of ours may throw what it likes.
  return new McpSessionError("STORE_FAILED", `The store failed at ${operation} of a session.`);
}
