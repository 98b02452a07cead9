import { checkKnown, checkMethods, checkMs } from "@durable-mcp/core/internal";
import type { StoreOptions } from "./base/store-options.ts";
import {
  createSqliteDialectStore,
  type SqliteDialectOptions,
  type SqliteDialectStore,
} from "./sqlite/dialect-store.ts";
import type { SqliteStatement, SqliteValue } from "./sqlite/statements.ts";
import { sqliteTables } from "./sqlite/tables.ts";

export { sqliteTables };

/** The part of a client of `@libsql/client` that the store needs. */
export interface LibsqlClient {
  /** Runs one statement. */
  execute(statement: LibsqlStatement): Promise<LibsqlResult>;
  /** Runs statements in one transaction. */
  batch(statements: LibsqlStatement[], mode: "write"): Promise<LibsqlResult[]>;
}

/** A statement, and the values of its parameters. */
export interface LibsqlStatement {
  sql: string;
  args: SqliteValue[];
}

/** The result of a statement. */
export interface LibsqlResult {
  readonly rows: readonly object[];
}

/** Options of `createLibsqlStore`. */
export interface LibsqlStoreOptions extends SqliteDialectOptions, Pick<StoreOptions, "timeoutMs"> {
  /**
   * A client of `@libsql/client`, or of its `/web` and `/http`. It stays yours: close it. Not an embedded
   * replica, whose reads are late.
   */
  readonly client: LibsqlClient;
}

/**
 * A store in Turso, or in another libSQL database. Each operation is one request. Several processes may share
 * a `file:` if each client has a `timeout`, but its waits block the process; those of `createSqliteStore` do not.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createLibsqlStore(options: LibsqlStoreOptions): SqliteDialectStore {
  checkKnown(options, ["client", "table", "timeoutMs", "onUnreadable", "now"]);
  const { client, timeoutMs = 10_000 } = options;
  checkMethods(client, "client", ["execute", "batch"], "a client of @libsql/client");
  checkMs(timeoutMs, "timeoutMs");
  return createSqliteDialectStore(
    {
      read: async (statement) => rowsOf(await client.execute(libsqlStatement(statement))),
      write: async (statements) =>
        (await client.batch(statements.map(libsqlStatement), "write")).map(rowsOf),
    },
    options,
    { name: "libSQL", timeoutMs },
  );
}

const libsqlStatement = ([sql, ...args]: SqliteStatement): LibsqlStatement => ({ sql, args });
const rowsOf = ({ rows }: LibsqlResult) => rows as readonly Record<string, unknown>[];
