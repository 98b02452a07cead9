import { McpSessionError } from "@durable-mcp/core";

/** The longest name of a table: PostgreSQL cuts names at 63 bytes, and those of indexes are longer. */
const maxBytes = 48;

/**
 * The name of the table, or of its index on `column`, as it stands in SQL.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for what cannot be a name
 */
export function quoteName(table = "mcp_sessions", column?: string): string {
  if (table === "" || table.includes("\0") || Buffer.byteLength(table) > maxBytes) {
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `table must be a name of 1 to ${maxBytes} bytes.`,
      {
        data: { field: "table" },
      },
    );
  }
  const name = column === undefined ? table : `${table}_${column}`;
  return `"${name.replaceAll('"', '""')}"`;
}
