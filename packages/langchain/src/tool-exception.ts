import { McpSessionError } from "@durable-mcp/sessions";

/**
 * An error of ours in the form of the adapter's errors of tools. The adapter recognizes its own errors by
 * their name and lets them pass. Of other errors it only keeps the text.
 */
export class ToolException extends Error {
  override readonly name = "ToolException";
  declare readonly cause: Error;

  /** @param cause an `McpSessionError`, or the interrupt of a graph on its way through the adapter */
  constructor(tool: string, cause: Error) {
    super(needsSignIn(cause) ? cause.message : `Error calling tool ${tool}: ${String(cause)}`, {
      cause,
    });
  }

  /** LangChain's text for a tool's error if no middleware wraps tool calls. A sign-in is no mistake of the model. */
  static textOf(error: unknown): string {
    if (error instanceof ToolException && needsSignIn(error.cause)) return error.message;
    return `${String(error)}\n Please fix your mistakes.`;
  }
}

function needsSignIn(error: unknown): boolean {
  return McpSessionError.isInstance(error) && error.code === "AUTHORIZATION_REQUIRED";
}
