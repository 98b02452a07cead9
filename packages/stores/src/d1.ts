import { checkKnown, type OptionKinds } from "@durable-mcp/core/internal";
import type { StoreOptions } from "./base/store-options.ts";
import {
  createSqliteDialectStore,
  dialectKinds,
  maxRowText,
  type SqliteDialectOptions,
  type SqliteDialectStore,
} from "./sqlite/dialect-store.ts";
import type { SqliteStatement } from "./sqlite/statements.ts";
import { sqliteTables } from "./sqlite/tables.ts";

export { sqliteTables };

/** The part of a D1 binding that the store needs. */
export interface D1Database {
  /** Prepares one statement. */
  prepare(sql: string): D1Statement;
  /** Runs statements in one transaction. */
  batch(statements: D1Statement[]): Promise<D1Result[]>;
}

/** A statement, with or without the values of its parameters. */
export interface D1Statement {
  /** The statement with these values. */
  bind(...values: unknown[]): D1Statement;
  /** Runs the statement. */
  all(): Promise<D1Result>;
}

/** The result of a statement. */
export interface D1Result {
  readonly results: unknown[];
}

/** Options of `createD1Store`. */
export interface D1StoreOptions extends SqliteDialectOptions, Pick<StoreOptions, "timeoutMs"> {
  /** A D1 database: a binding of `env`. Not a session of it, which may read old data from a replica. */
  readonly database: D1Database;
}

const kinds: OptionKinds<D1StoreOptions> = {
  ...{ ...dialectKinds, timeoutMs: "ms" },
  database: { methods: ["prepare", "batch"], is: "a D1 database, from env" },
};

/**
 * A store in Cloudflare D1, for a Worker. Each operation is one request. A value may have 1,990,000 bytes.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createD1Store(options: D1StoreOptions): SqliteDialectStore {
  checkKnown(options, kinds, { required: ["database"] });
  const { database, timeoutMs = 10_000 } = options;
  const prepare = ([sql, ...values]: SqliteStatement) => database.prepare(sql).bind(...values);
  return createSqliteDialectStore(
    {
      read: async (statement) => rowsOf(await prepare(statement).all()),
      write: async (statements) => (await database.batch(statements.map(prepare))).map(rowsOf),
    },
    options,
    { name: "D1", timeoutMs, maxBytes: maxRowText },
  );
}

const rowsOf = ({ results }: D1Result) => results as Record<string, unknown>[];
