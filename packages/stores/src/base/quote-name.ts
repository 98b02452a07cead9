import { invalidOption } from "@durable-mcp/core/internal";

/** The longest name of a table. PostgreSQL cuts names at 63 bytes, and the names of indexes are longer. */
const maxBytes = 48;

/**
 * The SQL name of the table, or of its index on `column`.
 *
 * @param field the option, for the error
 * @throws {McpSessionError} `CONNECTION_INVALID` for an impossible name
 */
export function quoteName(table = "mcp_sessions", column?: string, field = "table"): string {
  const isName = typeof table === "string" && table !== "" && !table.includes("\0");
  if (!isName || new TextEncoder().encode(table).length > maxBytes) {
    throw invalidOption(field, `must be a name of 1 to ${maxBytes} bytes`);
  }
  const name = column === undefined ? table : `${table}_${column}`;
  return `"${name.replaceAll('"', '""')}"`;
}
