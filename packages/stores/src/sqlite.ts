import type { DatabaseSync } from "node:sqlite";
import {
  checkKnown,
  invalid,
  invalidOption,
  maxTimerMs,
  type OptionKinds,
} from "@durable-mcp/core/internal";
import {
  allRows,
  createConnection,
  openSqliteDatabase,
  type SqliteConnection,
} from "./sqlite/database.ts";
import {
  createSqliteDialectStore,
  dialectKinds,
  type SqliteDialectOptions,
  type SqliteDialectStore,
} from "./sqlite/dialect-store.ts";
import { createSqliteNotices } from "./sqlite/notices.ts";
import { retryBusy } from "./base/retry-busy.ts";
import { sqliteStatements } from "./sqlite/statements.ts";
import { sqliteNotices, sqliteTables } from "./sqlite/tables.ts";
import { createSqliteWriteQueue } from "./sqlite/write-queue.ts";

export { sqliteTables };

/** Options of `createSqliteStore`. */
export interface SqliteStoreOptions extends SqliteDialectOptions {
  /** The file. The first use of the store opens it, and creates it with its table if needed. */
  readonly path?: string | undefined;
  /** Instead of `path`: a database of yours, with your modes, time-outs and tables. */
  readonly database?: DatabaseSync | undefined;
  /**
   * How long one operation waits for other processes, in milliseconds. This process goes on meanwhile.
   * @default 5000
   */
  readonly busyTimeoutMs?: number | undefined;
}

/** A store in an SQLite file, which can be closed. */
export interface SqliteStore extends SqliteDialectStore {
  /** Closes the file; with `database`, your database stays open. After that every call fails. */
  readonly close: () => Promise<void>;
}

/**
 * A store in a SQLite file, through `node:sqlite`. Several processes of one machine may use it at once.
 * A call that finds the file locked tries again, for `busyTimeoutMs` at most. Each try is synchronous, and
 * as short as the disk is fast. With `database`, its own `timeout` counts too, and stops this process.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; also unless there is either `path`
 *   or `database`
 */
export function createSqliteStore(options: SqliteStoreOptions): SqliteStore {
  checkSqliteOptions(options);
  const { path, database, table, busyTimeoutMs = 5_000, onUnreadable, now } = options;
  let connection: SqliteConnection | undefined;
  let isClosed = false;
  const connect = (): SqliteConnection => {
    if (isClosed) throw storeClosed();
    connection ??=
      database === undefined
        ? openSqliteDatabase(path!, sqliteTables(table))
        : createConnection(database);
    return connection;
  };
  const queue = createSqliteWriteQueue(connect, busyTimeoutMs);
  const { stop, ...notices } = createSqliteNotices({
    sql: sqliteStatements(table),
    tables: sqliteNotices(table),
    connect,
    queue,
  });
  const store = createSqliteDialectStore(
    {
      // Another process may hold the file. A connection that could not be opened is tried again too.
      read: (statement) => retryBusy(busyTimeoutMs, () => allRows(connect(), statement)),
      write: (statements) =>
        queue.add((connected) => statements.map((statement) => allRows(connected, statement))),
    },
    { table, onUnreadable, now },
    // `busyTimeoutMs` limits the waits, and there are no others.
    { name: "SQLite", timeoutMs: Infinity, ...notices },
  );

  return {
    ...store,
    async close() {
      stop();
      queue.close(storeClosed());
      isClosed = true;
      const own = database === undefined ? connection?.database : undefined;
      connection = undefined;
      own?.close();
    },
  };
}

const kinds: OptionKinds<SqliteStoreOptions> = {
  ...{ ...dialectKinds, path: "anything", busyTimeoutMs: [0, maxTimerMs] },
  database: { methods: ["exec", "prepare"], is: "a DatabaseSync of node:sqlite" },
};

/** @throws {McpSessionError} `CONNECTION_INVALID` */
function checkSqliteOptions(options: SqliteStoreOptions): void {
  checkKnown(options, kinds);
  const { path, database } = options;
  if ((path === undefined) === (database === undefined)) {
    throw invalid("path", "createSqliteStore needs either path or database. Pass one of them.");
  }
  if (path !== undefined && typeof path !== "string") throw invalidOption("path", "must be a text");
}

/** The cause of what fails after `close`. */
function storeClosed(): Error {
  return Object.assign(new Error("The store was closed."), { code: "STORE_CLOSED" });
}
