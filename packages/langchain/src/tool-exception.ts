/**
 * An error of ours in the form of the adapter's errors of tools. The adapter recognizes its own errors by
 * their name and lets them pass. Of other errors it only keeps the text.
 */
export class ToolException extends Error {
  override readonly name = "ToolException";
  declare readonly cause: Error;

  /** @param cause an `McpSessionError`, or the interrupt of a graph on its way through the adapter */
  constructor(tool: string, cause: Error) {
    super(`Error calling tool ${tool}: ${String(cause)}`, { cause });
  }
}
