import { McpSessionError } from "@durable-mcp/core";
import { invalid } from "@durable-mcp/core/internal";

/**
 * Runs `work`, and gives the field that its error names the whole path.
 *
 * @param pathOf the path of a field, with the field
 */
export function located<T>(work: () => T, pathOf: (field: string) => string): T {
  try {
    return work();
  } catch (error) {
    const { field } = McpSessionError.isInstance(error) ? error.data : {};
    if (field === undefined) throw error;
    const path = pathOf(field);
    const told = (error as Error).message.replace(/^Connection option /, "");
    const rest = told.startsWith(field) ? told.slice(field.length) : `: ${told}`;
    throw invalid(path, path + rest);
  }
}
