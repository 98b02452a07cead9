import type { McpSessionError } from "@durable-mcp/ai-sdk";

/**
 * An error of ours in the form of the adapter's errors of tools. The adapter recognizes its own errors by
 * their name and lets them pass. Of other errors it only keeps the text.
 */
export class ToolException extends Error {
  override readonly name = "ToolException";
  declare readonly cause: McpSessionError;

  constructor(tool: string, cause: McpSessionError) {
    super(`Error calling tool ${tool}: ${String(cause)}`, { cause });
  }
}
