import type { SessionStore } from "@durable-mcp/core";
import { attemptInStore, createDrivenStore } from "@durable-mcp/core/store-driver";
import { inTime } from "./base/in-time.ts";
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
  /** How long to wait for an answer, in milliseconds; then the call fails. @default 10000 */
  readonly timeoutMs?: number | undefined;
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
 * @throws {McpSessionError} `CONNECTION_INVALID` for a schema or table that cannot be a name
 */
export function createPostgresStore({
  pool,
  schema,
  table,
  timeoutMs = 10_000,
  now,
}: PostgresStoreOptions): PostgresStore {
  const name = postgresTableName({ schema, table });
  const statements = postgresStatements(name);

  const query = ({ text, values }: PostgresQuery) =>
    inTime(timeoutMs, async (signal) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await pool.query(text, [...values]);
        } catch (error) {
          // With a stricter isolation level, a write fails if another one overtook it.
          const { code } = error as { code?: string };
          if (!retryable.has(code ?? "") || tries === maxTries || signal.aborted) throw error;
        }
      }
    });
  const write = async (statement: PostgresQuery) => (await query(statement)).rowCount === 1;

  return {
    ...createDrivenStore(
      {
        name: "PostgreSQL",
        async get(key, time) {
          const { rows } = await query(statements.get(key, time));
          return rows[0] as { text: string; revision: string } | undefined;
        },
        put: (record, time) => write(statements.put(record, time)),
        async touch(key, at, time) {
          await query(statements.touch(key, at, time));
        },
        async delete(key, ifRevision, time) {
          return (
            (await write(statements.delete(key, ifRevision, time))) || ifRevision === undefined
          );
        },
        async list(selection, time) {
          const { rows } = await query(postgresList(name, selection, time));
          return readPostgresPage(rows as PostgresRow[], selection.limit);
        },
      },
      now,
    ),
    createTables: () =>
      attemptInStore("PostgreSQL", "createTables", async () => {
        // The statements of one query are one transaction. Without the lock, two at once fail despite
        // IF NOT EXISTS.
        const lock = "SELECT pg_advisory_xact_lock(hashtext('durable-mcp'));";
        await inTime(timeoutMs, () => pool.query(`${lock}\n${postgresTables({ schema, table })}`));
      }),
  };
}
