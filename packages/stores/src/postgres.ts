import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, checkMethods, checkMs } from "@durable-mcp/core/internal";
import { attemptInStore, createDrivenStore } from "@durable-mcp/core/store-driver";
import { postgresList, type PostgresRow, readPostgresPage } from "./postgres/list.ts";
import type { PostgresQuery } from "./postgres/query.ts";
import { postgresStatements } from "./postgres/statements.ts";
import { type PostgresNames, postgresTableName, postgresTables } from "./postgres/tables.ts";

export { type PostgresNames, postgresTables };

/** The part of a `Pool` of `pg` that the store needs. */
export interface PostgresPool {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
}

export interface PostgresStoreOptions extends PostgresNames {
  /** A `Pool` of `pg`. It stays yours: give it an `error` listener, and end it. */
  readonly pool: PostgresPool;
  /** How long one operation may take, connecting included, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Called for a value that is not JSON. It reads as `null`. @default warns once on the console */
  readonly onUnreadable?: (() => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

export interface PostgresStore extends SessionStore {
  /** Creates the table and its indexes if they are missing. Any number of processes may call it at once. */
  readonly createTables: () => Promise<void>;
}

/** Serialization failure and deadlock: nothing was done, and a second try may succeed. */
const retryable = new Set(["40001", "40P01"]);
const maxTries = 10;

/**
 * A store in PostgreSQL 13 or newer, through a pool of `pg`.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  checkKnown(options, ["pool", "schema", "table", "timeoutMs", "onUnreadable", "now"]);
  const { pool, schema, table, timeoutMs = 10_000, onUnreadable, now } = options;
  checkMethods(pool, "pool", ["query"], "a Pool of pg");
  checkMs(timeoutMs, "timeoutMs");
  const name = postgresTableName({ schema, table });
  const statements = postgresStatements(name);

  const query = async ({ text, values }: PostgresQuery, signal: AbortSignal | undefined) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await pool.query(text, [...values]);
      } catch (error) {
        // With a stricter isolation level, a write fails if another one overtook it.
        const { code } = error as { code?: string };
        if (!retryable.has(code ?? "") || tries === maxTries || signal?.aborted) throw error;
      }
    }
  };
  const write = async (statement: PostgresQuery, signal: AbortSignal | undefined) =>
    (await query(statement, signal)).rowCount === 1;

  return {
    ...createDrivenStore(
      {
        name: "PostgreSQL",
        timeoutMs,
        onUnreadable,
        async get(key, time, signal) {
          const { rows } = await query(statements.get(key, time), signal);
          return rows[0] as { text: string; revision: string } | undefined;
        },
        put: (record, time, signal) => write(statements.put(record, time), signal),
        async touch(key, at, time, signal) {
          await query(statements.touch(key, at, time), signal);
        },
        async delete(key, ifRevision, time, signal) {
          const isDone = await write(statements.delete(key, ifRevision, time), signal);
          return isDone || ifRevision === undefined;
        },
        async list(selection, time, signal) {
          const { rows } = await query(postgresList(name, selection, time), signal);
          return readPostgresPage(rows as PostgresRow[], selection.limit);
        },
      },
      now,
    ),
    createTables: () =>
      attemptInStore(
        "PostgreSQL",
        "createTables",
        async () => {
          // The statements of one query are one transaction. Without the lock, two at once fail despite
          // IF NOT EXISTS.
          const lock = "SELECT pg_advisory_xact_lock(hashtext('durable-mcp'));";
          await pool.query(`${lock}\n${postgresTables({ schema, table })}`);
        },
        timeoutMs,
      ),
  };
}
