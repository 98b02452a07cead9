import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, checkMethods, checkMs, invalidOption } from "@durable-mcp/core/internal";
import {
  attemptInStore,
  createDrivenStore,
  type StoreDriver,
} from "@durable-mcp/core/store-driver";
import { makePostgresBatch } from "./postgres/batch.ts";
import { postgresList, type PostgresRow, readPostgresPage } from "./postgres/list.ts";
import {
  createPostgresNotices,
  isConnectingPool,
  noticeChannel,
  noticePayload,
} from "./postgres/notices.ts";
import type { PostgresQuery } from "./postgres/query.ts";
import { createPostgresSender, type SendToPostgres } from "./postgres/send.ts";
import { postgresStatements, putsPerPurge } from "./postgres/statements.ts";
import { type PostgresNames, postgresTableName, postgresTables } from "./postgres/tables.ts";

export { type PostgresNames, postgresTables };

/** The part of a `Pool` of `pg` that the store needs. */
export interface PostgresPool {
  /** Runs one statement. */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
}

/** Options of `createPostgresStore`. */
export interface PostgresStoreOptions extends PostgresNames {
  /** A `Pool` of `pg`. It stays yours: give it an `error` listener, and end it. Idle, it keeps a process for 10 s. */
  readonly pool: PostgresPool;
  /**
   * Whether `subscribe` listens (`LISTEN`), on a connection of its own with the pool's settings. Without it,
   * the store has neither `publish` nor `subscribe`: for poolers that do not pass notifications on.
   * @default true
   */
  readonly listen?: boolean | undefined;
  /**
   * Whether statements are prepared by name, which about halves their cost. Behind a pooler that cannot do
   * that, the store notices and stops. @default true
   */
  readonly prepare?: boolean | undefined;
  /** How long one operation may take, connecting included, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Called for a value that is not JSON. It reads as `null`. @default warns once on the console */
  readonly onUnreadable?: (() => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** A store in PostgreSQL, which can make its tables. */
export interface PostgresStore extends SessionStore {
  /** Creates the table and its indexes if they are missing. Any number of processes may call it at once. */
  readonly createTables: () => Promise<void>;
}

/**
 * A store in PostgreSQL 13 or newer, through a pool of `pg`.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  checkPostgresOptions(options);
  const { pool, schema, table, timeoutMs = 10_000, onUnreadable, now } = options;
  const { listen = true, prepare = true } = options;
  const name = postgresTableName({ schema, table });
  const statements = postgresStatements(name);

  const query = createPostgresSender(pool, prepare && isConnectingPool(pool));
  const isPurge = createPurgeTurns();
  const write = async (statement: PostgresQuery, signal: AbortSignal | undefined) =>
    (await query(statement, signal)).rowCount === 1;

  const notices = listen ? noticesOf(pool, table, query) : {};

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
        put: (record, time, signal) =>
          write(statements.put(record, time, isPurge([record])), signal),
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
        batch: (steps, time, signal) =>
          makePostgresBatch(
            async (each) => (await query(each, signal)).rows,
            ...([name, steps, time, isPurge(steps)] as const),
          ),
        ...notices,
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

/** @throws {McpSessionError} `CONNECTION_INVALID` */
function checkPostgresOptions(options: PostgresStoreOptions): void {
  const known = [
    "pool",
    "schema",
    "table",
    "listen",
    "prepare",
    "timeoutMs",
    "onUnreadable",
    "now",
  ];
  checkKnown(options, known);
  checkMethods(options.pool, "pool", ["query"], "a Pool of pg");
  const { listen = true, prepare = true } = options;
  for (const [option, value] of Object.entries({ listen, prepare })) {
    if (typeof value !== "boolean") throw invalidOption(option, "must be true or false");
  }
  checkMs(options.timeoutMs, "timeoutMs");
}

/** Says which writes are to delete what has expired, too. */
function createPurgeTurns() {
  // Each process begins anywhere, because many live for a few records.
  let putsUntilPurge = Math.floor(Math.random() * putsPerPurge);
  return (steps: readonly { readonly ifRevision: string | null | undefined }[]): boolean => {
    for (const { ifRevision } of steps) if (ifRevision === null) putsUntilPurge -= 1;
    if (putsUntilPurge > 0) return false;
    putsUntilPurge = putsPerPurge;
    return true;
  };
}

function noticesOf(
  pool: PostgresPool,
  table: string | undefined,
  query: SendToPostgres,
): Pick<StoreDriver, "publish" | "subscribe"> {
  if (!isConnectingPool(pool)) return {};
  const channel = noticeChannel(table);
  return {
    async publish(topic, signal) {
      const values = [channel, noticePayload(topic)];
      await query({ text: "SELECT pg_notify($1, $2)", values }, signal);
    },
    subscribe: createPostgresNotices(pool, channel),
  };
}
