import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { SessionStore } from "@durable-mcp/core";
import { checkWhole, invalid } from "@durable-mcp/core/internal";
import { attemptInStore, createDrivenStore } from "@durable-mcp/core/store-driver";
import { escapeText } from "./base/key-text.ts";
import { openSqliteDatabase } from "./sqlite/database.ts";
import { readSqlitePage, sqliteList, type SqliteRow } from "./sqlite/list.ts";
import { sqliteStatements } from "./sqlite/statements.ts";
import { sqliteTables } from "./sqlite/tables.ts";

export { sqliteTables };

export interface SqliteStoreOptions {
  /** The file. The first use of the store opens it, and creates it with its table if needed. */
  readonly path?: string | undefined;
  /** Instead of `path`: a database of yours, with your modes, time-outs and tables. */
  readonly database?: DatabaseSync | undefined;
  /** @default "mcp_sessions" */
  readonly table?: string | undefined;
  /** With `path`: how long to wait for other processes, in milliseconds. @default 5000 */
  readonly busyTimeoutMs?: number | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

export interface SqliteStore extends SessionStore {
  /** Creates the table and its indexes if they are missing. */
  readonly createTables: () => Promise<void>;
  /** Closes the file; with `database`, your database stays open. After that every call fails. */
  readonly close: () => Promise<void>;
}

/**
 * A store in a SQLite file, through `node:sqlite`. Several processes of one machine may use it at once.
 * A call that waits for another process blocks this process, for `busyTimeoutMs` at most.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` unless there is either `path` or `database`
 */
// oxlint-disable-next-line max-lines-per-function -- a driver: one function for each call of the contract
export function createSqliteStore(options: SqliteStoreOptions): SqliteStore {
  const { path, database, table, busyTimeoutMs = 5_000, now } = options;
  if ((path === undefined) === (database === undefined)) {
    throw invalid("path", "createSqliteStore needs either path or database. Pass one of them.");
  }
  checkWhole(busyTimeoutMs, "busyTimeoutMs", 0);
  const sql = sqliteStatements(table);

  let opening: Promise<Connection> | undefined;
  let isClosed = false;
  const open = async (): Promise<Connection> => {
    if (database !== undefined) return createConnection(database);
    const own = await openSqliteDatabase(path!, busyTimeoutMs);
    try {
      own.exec(sqliteTables(table));
      return createConnection(own);
    } catch (error) {
      own.close();
      throw error;
    }
  };
  const connect = (): Promise<Connection> => {
    if (isClosed) return Promise.reject(new Error("The store was closed."));
    opening ??= open().catch((error: unknown) => {
      opening = undefined; // the next call tries again
      throw error;
    });
    return opening;
  };

  const store = createDrivenStore(
    {
      name: "SQLite",
      async get(key, time) {
        const { statement } = await connect();
        const row = statement(sql.get).get({ $key: escapeText(key), $now: time });
        return row as { text: string; revision: string } | undefined;
      },
      async put({ key, text, revision, ifRevision, owner, expiresAt = null }, time) {
        const { statement } = await connect();
        const record = {
          ...{ $key: escapeText(key), $text: text, $revision: revision },
          ...{ $owner: escapeText(owner), $now: time, $expiresAt: expiresAt },
        };
        if (ifRevision !== null) {
          return statement(sql.update).run({ ...record, $ifRevision: ifRevision }).changes === 1;
        }
        statement(sql.purge).run({ $now: time });
        return statement(sql.insert).run(record).changes === 1;
      },
      async touch(key, at, time) {
        const { statement } = await connect();
        statement(sql.touch).run({ $key: escapeText(key), $at: at, $now: time });
      },
      async delete(key, ifRevision, time) {
        const { statement } = await connect();
        if (ifRevision === undefined) {
          statement(sql.delete).run({ $key: escapeText(key) });
          return true;
        }
        const values = { $key: escapeText(key), $ifRevision: ifRevision, $now: time };
        return statement(sql.deleteRevision).run(values).changes === 1;
      },
      async list(selection, time) {
        const { statement } = await connect();
        const query = sqliteList(selection, time, table);
        const rows = statement(query.sql).all(query.values) as unknown as SqliteRow[];
        return readSqlitePage(rows, selection.limit);
      },
    },
    now,
  );

  return {
    ...store,
    createTables: () =>
      attemptInStore("SQLite", "createTables", async () => {
        (await connect()).database.exec(sqliteTables(table));
      }),
    async close() {
      isClosed = true;
      // A connection that did not open needs no closing.
      const connection = await opening?.catch(() => undefined);
      opening = undefined;
      if (database === undefined) connection?.database.close();
    },
  };
}

interface Connection {
  readonly database: DatabaseSync;
  /** Prepares each statement once. */
  readonly statement: (sql: string) => StatementSync;
}

function createConnection(database: DatabaseSync): Connection {
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
