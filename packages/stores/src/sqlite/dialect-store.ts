import type { SessionStore } from "@durable-mcp/core";
import {
  attemptInStore,
  createDrivenStore,
  type StoreDriver,
} from "@durable-mcp/core/store-driver";
import { storeKinds, type StoreOptions } from "../base/store-options.ts";
import { createSqliteDialect, type SqliteDatabase } from "./dialect.ts";
import { sqliteTableList } from "./tables.ts";

/**
 * The longest text of a value, in bytes, where a row may have 2,000,000: the rest is for its other columns.
 *
 * @see https://developers.cloudflare.com/d1/platform/limits/ (2026-04-21)
 */
export const maxRowText = 1_990_000;

/** Options that all SQLite stores have. */
export interface SqliteDialectOptions extends Omit<StoreOptions, "timeoutMs"> {
  /** @default "mcp_sessions" */
  readonly table?: string | undefined;
}

const { timeoutMs: _, ...others } = storeKinds;
/** The kinds of these options. The tables' names are checked where they are made. */
export const dialectKinds = { ...others, table: "anything" } as const;

/** A store in an SQLite database, which can make its tables. */
export interface SqliteDialectStore extends SessionStore {
  /** Creates the table and its indexes if they are missing. Any number of processes may call it at once. */
  readonly createTables: () => Promise<void>;
}

/**
 * Creates a store on the SQLite dialect.
 *
 * @param driver what differs between the databases
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createSqliteDialectStore(
  database: SqliteDatabase,
  { table, onUnreadable, now }: SqliteDialectOptions,
  driver: Pick<StoreDriver, "name" | "timeoutMs" | "maxBytes" | "publish" | "subscribe">,
): SqliteDialectStore {
  const { name, timeoutMs } = driver;
  const tables = sqliteTableList(table);
  return {
    ...createDrivenStore({ ...driver, onUnreadable, ...createSqliteDialect(database, table) }, now),
    createTables: () =>
      attemptInStore(
        name,
        "createTables",
        async () => void (await database.write(tables.map((sql) => [sql]))),
        timeoutMs,
      ),
  };
}
