import { dueStart } from "@durable-mcp/core/store-driver";
import { quoteName } from "../base/quote-name.ts";
import type { PostgresQuery } from "./query.ts";

/** The place of the PostgreSQL store's table. */
export interface PostgresNames {
  /** A schema that exists. @default the first of the `search_path` */
  readonly schema?: string | undefined;
  /** @default "mcp_sessions" */
  readonly table?: string | undefined;
}

/** An index has this many characters of a key, because an index entry has room for 2,704 bytes. */
export const indexedKeyLength = 500;

/** The condition of the partial index, which a query has to repeat word by word. */
export const isDueKey = `starts_with(key, '${dueStart}')`;

/** The table's name in SQL. */
export function postgresTableName({ schema, table }: PostgresNames): string {
  const name = quoteName(table);
  return schema === undefined ? name : `${quoteName(schema, undefined, "schema")}.${name}`;
}

/**
 * The schema of the PostgreSQL store. The SQL may run any number of times, but not twice at once.
 * `createTables` takes care of that.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for a name that cannot be one
 */
export function postgresTables(names: PostgresNames = {}): string {
  const name = postgresTableName(names);
  const index = (column: string) => quoteName(names.table, column);
  return `\
CREATE TABLE IF NOT EXISTS ${name} (
  key_hash bytea PRIMARY KEY,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  revision text NOT NULL,
  owner_hash bytea NOT NULL,
  owner text COLLATE "C" NOT NULL,
  last_used_at bigint NOT NULL,
  expires_at bigint
);
CREATE INDEX IF NOT EXISTS ${index("key")} ON ${name} (left(key, ${indexedKeyLength}), key_hash);
CREATE INDEX IF NOT EXISTS ${index("owner")} ON ${name} (owner_hash, key_hash);
CREATE INDEX IF NOT EXISTS ${index("last_used_at")} ON ${name} (last_used_at, key_hash);
CREATE INDEX IF NOT EXISTS ${index("due")} ON ${name} (last_used_at, key_hash)
  WHERE ${isDueKey};
CREATE INDEX IF NOT EXISTS ${index("expires_at")} ON ${name} (expires_at)
  WHERE expires_at IS NOT NULL;
`;
}

/** One statement for all of them, because some drivers send one at a time. Any number may run at once. */
export function makePostgresTables(names: PostgresNames): PostgresQuery {
  // Without the lock, two at once fail despite IF NOT EXISTS.
  const block = `BEGIN PERFORM pg_advisory_xact_lock(hashtext('durable-mcp'));
${postgresTables(names)}END`;
  // As a text with escapes, a block can contain any name.
  return { text: `DO E'${block.replace(/['\\]/g, "$&$&")}'`, values: [], isVaried: true };
}
