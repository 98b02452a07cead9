import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { SqliteRow, SqliteStatement } from "./statements.ts";

/** An open database. */
export interface SqliteConnection {
  readonly database: DatabaseSync;
  /** Prepares each statement once. */
  readonly statement: (sql: string) => StatementSync;
}

/**
 * Opens a database file in WAL mode, and creates it if needed, readable by this user alone, because it
 * will hold credentials. Waits for no other process: SQLite's own wait would stop this one.
 *
 * @param tables the SQL that creates what is missing
 */
export function openSqliteDatabase(path: string, tables: string): SqliteConnection {
  if (path !== "" && !/^(:memory:$|file:)/.test(path)) {
    // An import would load Node's file streams too: 4 ms of each process.
    const { closeSync, openSync } = process.getBuiltinModule("node:fs");
    closeSync(openSync(path, "a", 0o600));
  }
  const database = new DatabaseSync(path);
  try {
    // First, for the others may find the file locked. (Node 22.13 has no option `timeout`.)
    database.exec("PRAGMA busy_timeout = 0");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec(tables);
    return createConnection(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

export function createConnection(database: DatabaseSync): SqliteConnection {
  const statements = new Map<string, StatementSync>();
  return {
    database,
    statement(sql) {
      let statement = statements.get(sql);
      if (statement === undefined) {
        statement = database.prepare(sql);
        statements.set(sql, statement);
      }
      return statement;
    },
  };
}

/** Runs a statement to its end. Its numbered parameters go by number: Node 22 takes no list for them. */
export function allRows(
  { statement }: SqliteConnection,
  [sql, ...values]: SqliteStatement,
): readonly SqliteRow[] {
  return statement(sql).all(Object.fromEntries(values.map((value, at) => [at + 1, value])));
}
