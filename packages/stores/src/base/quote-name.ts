import { invalidOption } from "@durable-mcp/core/internal";

/** The longest name of a table. PostgreSQL cuts names at 63 bytes, and the names of indexes are longer. */
const maxBytes = 48;

/**
 * The SQL name of the table, or of its index on `column`.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for an impossible name
 */
export function quoteName(table = "mcp_sessions", column?: string): string {
  if (table === "" || table.includes("\0") || Buffer.byteLength(table) > maxBytes) {
    throw invalidOption("table", `must be a name of 1 to ${maxBytes} bytes`);
  }
  const name = column === undefined ? table : `${table}_${column}`;
  return `"${name.replaceAll('"', '""')}"`;
}
