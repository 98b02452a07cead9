import type { McpSessionError } from "@durable-mcp/ai-sdk";

/**
 * An error of ours in the form that the adapter gives all errors of a tool. The adapter knows its
 * own by their name and lets them pass; of others it keeps the text alone.
 */
export class ToolException extends Error {
  override readonly name = "ToolException";
  declare readonly cause: McpSessionError;

  constructor(tool: string, cause: McpSessionError) {
    super(`Error calling tool ${tool}: ${String(cause)}`, { cause });
  }
}
