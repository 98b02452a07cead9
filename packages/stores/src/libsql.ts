import { checkKnown, type OptionKinds } from "@durable-mcp/core/internal";
import type { StoreOptions } from "./base/store-options.ts";
import {
  createSqliteDialectStore,
  dialectKinds,
  type SqliteDialectOptions,
  type SqliteDialectStore,
} from "./sqlite/dialect-store.ts";
import { retryBusy } from "./base/retry-busy.ts";
import type { SqliteStatement, SqliteValue } from "./sqlite/statements.ts";
import { sqliteTables } from "./sqlite/tables.ts";

export { sqliteTables };

/** The part of a client of `@libsql/client` that the store needs. */
export interface LibsqlClient {
  /** Runs one statement. */
  execute(statement: LibsqlStatement): Promise<LibsqlResult>;
  /** Runs statements in one transaction. */
  batch(statements: LibsqlStatement[], mode: "write"): Promise<LibsqlResult[]>;
  /** "file" for a file of this machine. */
  readonly protocol?: string;
  /** Opens the connections anew. */
  reconnect?(): unknown;
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
   * replica, whose reads are late. For a `file:` one of the store's own: if the file is locked, the store waits, and
   * has the client reconnect, which ends the transactions that are open on it.
   */
  readonly client: LibsqlClient;
}

const kinds: OptionKinds<LibsqlStoreOptions> = {
  ...{ ...dialectKinds, timeoutMs: "ms" },
  client: { methods: ["execute", "batch"], is: "a client of @libsql/client" },
};

/**
 * A store in Turso, or in another libSQL database. Each operation is one request. Several processes may share a
 * `file:`. Leave out the client's `timeout`, whose waits block the process.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createLibsqlStore(options: LibsqlStoreOptions): SqliteDialectStore {
  checkKnown(options, kinds, { required: ["client"] });
  const { client, timeoutMs = 10_000 } = options;
  const unlocked = <T>(run: () => Promise<T>): Promise<T> =>
    client.protocol === "file" ? whenUnlocked(client, timeoutMs, run) : run();
  return createSqliteDialectStore(
    {
      read: async (statement) =>
        rowsOf(await unlocked(() => client.execute(libsqlStatement(statement)))),
      write: async (statements) =>
        (await unlocked(() => client.batch(statements.map(libsqlStatement), "write"))).map(rowsOf),
    },
    options,
    { name: "libSQL", timeoutMs },
  );
}

const libsqlStatement = ([sql, ...args]: SqliteStatement): LibsqlStatement => ({ sql, args });
const rowsOf = ({ rows }: LibsqlResult) => rows as readonly Record<string, unknown>[];

/**
 * Tries again while a file is locked. A `batch` of the client that meets a lock leaves its `BEGIN` under way
 * (0.18.0), so that none can be committed after it. So the connections are opened anew, which other operations under
 * way notice.
 */
async function whenUnlocked<T>(
  client: LibsqlClient,
  timeoutMs: number,
  run: () => Promise<T>,
): Promise<T> {
  const isLocked = async (error: unknown): Promise<boolean> => {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const isInterrupted = code === "CLIENT_CLOSED" && /in flight/.test(String(message));
    if (code === "SQLITE_BUSY") await client.reconnect?.();
    return code === "SQLITE_BUSY" || isInterrupted;
  };
  // Before the store's own limit, after which nobody knows.
  return await retryBusy(0.9 * timeoutMs, run, isLocked).catch((cause: unknown) => {
    if ((cause as { code?: unknown }).code !== "SQLITE_BUSY") throw cause;
    throw Object.assign(new Error("The file is locked.", { cause }), { code: "FILE_LOCKED" });
  });
}
