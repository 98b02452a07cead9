/** Whether a tool call ended in a result that says the tool failed. */
export function isToolError(result: unknown): boolean {
  // A tool with an output schema may have an `isError` of its own.
  const { isError, content } = (result ?? {}) as { isError?: unknown; content?: unknown };
  return isError === true && Array.isArray(content);
}
