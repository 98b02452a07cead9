import { quoteName } from "../base/quote-name.ts";
import { isDueKey } from "./statements.ts";

/**
 * The schema of the SQLite stores. The SQL may run any number of times.
 *
 * @param table by default `mcp_sessions`
 * @throws {McpSessionError} `CONNECTION_INVALID` for a name that cannot be one
 */
export function sqliteTables(table?: string): string {
  return sqliteTableList(table)
    .map((sql) => `${sql};\n`)
    .join("");
}

/** The statements of the schema, one by one. */
export function sqliteTableList(table?: string): string[] {
  const name = quoteName(table);
  return [
    `\
CREATE TABLE IF NOT EXISTS ${name} (
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  revision TEXT NOT NULL,
  owner TEXT NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT`,
    `CREATE INDEX IF NOT EXISTS ${quoteName(table, "owner")} ON ${name} (owner, key)`,
    `CREATE INDEX IF NOT EXISTS ${quoteName(table, "last_used_at")} ON ${name} (last_used_at, key)`,
    `\
CREATE INDEX IF NOT EXISTS ${quoteName(table, "due")} ON ${name} (last_used_at, key)
  WHERE ${isDueKey}`,
    `\
CREATE INDEX IF NOT EXISTS ${quoteName(table, "expires_at")} ON ${name} (expires_at)
  WHERE expires_at IS NOT NULL`,
    sqliteNotices(table),
  ];
}

/** The part of the schema that notices between processes need, and create if it is missing. */
export function sqliteNotices(table?: string): string {
  return `\
CREATE TABLE IF NOT EXISTS ${quoteName(table, "notices")} (
  number INTEGER NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL
) STRICT`;
}
