import type { DatabaseSync } from "node:sqlite";
import type { SessionStore } from "@durable-mcp/core";
import {
  checkKnown,
  checkMethods,
  checkWhole,
  invalid,
  invalidOption,
  maxTimerMs,
} from "@durable-mcp/core/internal";
import { attemptInStore, createDrivenStore } from "@durable-mcp/core/store-driver";
import { escapeText } from "./base/key-text.ts";
import { createConnection, openSqliteDatabase, type SqliteConnection } from "./sqlite/database.ts";
import { readSqlitePage, sqliteList, type SqliteRow } from "./sqlite/list.ts";
import { createSqliteNotices } from "./sqlite/notices.ts";
import { retryBusy } from "./sqlite/retry-busy.ts";
import { sqliteStatements } from "./sqlite/statements.ts";
import { sqliteNotices, sqliteTables } from "./sqlite/tables.ts";
import { createSqliteWriteQueue } from "./sqlite/write-queue.ts";
import { createSqliteWrites } from "./sqlite/writes.ts";

export { sqliteTables };

/** Options of `createSqliteStore`. */
export interface SqliteStoreOptions {
  /** The file. The first use of the store opens it, and creates it with its table if needed. */
  readonly path?: string | undefined;
  /** Instead of `path`: a database of yours, with your modes, time-outs and tables. */
  readonly database?: DatabaseSync | undefined;
  /** @default "mcp_sessions" */
  readonly table?: string | undefined;
  /**
   * How long one operation waits for other processes, in milliseconds. This process goes on meanwhile.
   * @default 5000
   */
  readonly busyTimeoutMs?: number | undefined;
  /** Called for a value that is not JSON. It reads as `null`. @default warns once on the console */
  readonly onUnreadable?: (() => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** A store in an SQLite file, which can be closed. */
export interface SqliteStore extends SessionStore {
  /** Creates the table and its indexes if they are missing. */
  readonly createTables: () => Promise<void>;
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
  const sql = sqliteStatements(table);

  const tables = sqliteTables(table);
  let connection: SqliteConnection | undefined;
  let isClosed = false;
  const connect = (): SqliteConnection => {
    if (isClosed) throw storeClosed();
    connection ??=
      database === undefined ? openSqliteDatabase(path!, tables) : createConnection(database);
    return connection;
  };
  /** Another process may hold the file. A connection that could not be opened is tried again too. */
  const inTurn = <T>(run: (connected: SqliteConnection) => T): Promise<T> =>
    retryBusy(busyTimeoutMs, () => run(connect()));

  const queue = createSqliteWriteQueue(connect, busyTimeoutMs);
  const { stop, ...notices } = createSqliteNotices({
    sql,
    tables: sqliteNotices(table),
    connect,
    queue,
  });

  const store = createDrivenStore(
    {
      name: "SQLite",
      timeoutMs: Infinity, // `busyTimeoutMs` limits the waits, and there are no others
      onUnreadable,
      get: (key, time) =>
        inTurn(({ statement }) => {
          const row = statement(sql.get).get({ $key: escapeText(key), $now: time });
          return row as { text: string; revision: string } | undefined;
        }),
      ...createSqliteWrites(sql, queue),
      ...notices,
      list: (selection, time) =>
        inTurn(({ statement }) => {
          const query = sqliteList(selection, time, table);
          const rows = statement(query.sql).all(query.values) as unknown as SqliteRow[];
          return readSqlitePage(rows, selection.limit);
        }),
    },
    now,
  );

  return {
    ...store,
    createTables: () =>
      attemptInStore("SQLite", "createTables", () =>
        inTurn((connected) => connected.database.exec(tables)),
      ),
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

/** @throws {McpSessionError} `CONNECTION_INVALID` */
function checkSqliteOptions(options: SqliteStoreOptions): void {
  checkKnown(options, ["path", "database", "table", "busyTimeoutMs", "onUnreadable", "now"]);
  const { path, database, busyTimeoutMs = 0 } = options;
  if ((path === undefined) === (database === undefined)) {
    throw invalid("path", "createSqliteStore needs either path or database. Pass one of them.");
  }
  if (path === undefined) {
    checkMethods(database, "database", ["exec", "prepare"], "a DatabaseSync of node:sqlite");
  } else if (typeof path !== "string") throw invalidOption("path", "must be a text");
  checkWhole(busyTimeoutMs, "busyTimeoutMs", 0, maxTimerMs);
}

/** The cause of what fails after `close`. */
function storeClosed(): Error {
  return Object.assign(new Error("The store was closed."), { code: "STORE_CLOSED" });
}
