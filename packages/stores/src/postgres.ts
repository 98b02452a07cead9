import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, guarded, invalidOption, warnOnce } from "@durable-mcp/core/internal";
import { attemptInStore, createDrivenStore, type StoredText } from "@durable-mcp/core/store-driver";
import { escapeText } from "./base/key-text.ts";
import { createPurgeTurns } from "./base/purge-turns.ts";
import { storeKinds, type StoreOptions } from "./base/store-options.ts";
import { makePostgresBatch } from "./postgres/batch.ts";
import { postgresList, type PostgresRow, readPostgresPage } from "./postgres/list.ts";
import {
  createPostgresNotices,
  isConnectingPool,
  type ListenToPostgres,
  listenThroughPool,
  noticeChannel,
  noticePayload,
} from "./postgres/notices.ts";
import type { PostgresQuery } from "./postgres/query.ts";
import {
  type PostgresPool,
  type QueryPostgres,
  sendThroughPool,
  sendThroughQuery,
  withRetries,
} from "./postgres/send.ts";
import { postgresStatements } from "./postgres/statements.ts";
import {
  makePostgresTables,
  type PostgresNames,
  postgresTableName,
  postgresTables,
} from "./postgres/tables.ts";

export { type PostgresNames, type PostgresPool, postgresTables };

/** Options of `createPostgresStore`: a `pool` of `pg`, or the `query` of any other driver. */
export type PostgresStoreOptions = PostgresPoolOptions | PostgresQueryOptions;

/** Options of `createPostgresStore` with a pool. */
export interface PostgresPoolOptions extends PostgresNames, StoreOptions {
  /** A `Pool` of `pg`. It stays yours: give it an `error` listener, and end it. Idle, it keeps a process for 10 s. */
  readonly pool: PostgresPool;
  readonly query?: undefined;
  /**
   * Whether `subscribe` listens (`LISTEN`), on a connection of its own with the pool's settings. Without it,
   * the store has neither `publish` nor `subscribe`: for poolers that do not pass notifications on.
   * @default true
   */
  readonly listen?: boolean | undefined;
  /**
   * Called when `LISTEN` succeeds and no notice arrives, as behind PgBouncer. Subscribers are called every 500 ms then.
   * @default warns once on the console
   */
  readonly onDeaf?: (() => void) | undefined;
  /**
   * Whether statements are prepared by name, which about halves their cost. Behind a pooler that cannot do
   * that, the store stops preparing at the first refusal. @default true
   */
  readonly prepare?: boolean | undefined;
}

/** Options of `createPostgresStore` with a function that sends its statements, through any driver. */
export interface PostgresQueryOptions extends PostgresNames, StoreOptions {
  /**
   * Runs one statement with values for `$1` and so on, and returns its rows, each an object by column name. Its
   * errors have PostgreSQL's SQLSTATE as their `code`. The driver stays yours, and so do its connections.
   */
  readonly query: QueryPostgres;
  readonly pool?: undefined;
  /** Listens (`LISTEN`) for `subscribe`. Without it, the store has neither `publish` nor `subscribe`. */
  readonly listen?: ListenToPostgres | undefined;
  /** As with a pool. */
  readonly onDeaf?: (() => void) | undefined;
  readonly prepare?: undefined;
}

/** A store in PostgreSQL, which can make its tables. */
export interface PostgresStore extends SessionStore {
  /** Creates the table and its indexes if they are missing. Any number of processes may call it at once. */
  readonly createTables: () => Promise<void>;
}

/**
 * A store in PostgreSQL 13 or newer, through a pool of `pg` or any other driver.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  checkPostgresOptions(options);
  const { schema, table, timeoutMs = 10_000, onUnreadable, now } = options;
  const name = postgresTableName({ schema, table });
  const statements = postgresStatements(name);
  const { sendOnce, listen } = connect(options);
  const send = withRetries(sendOnce);
  const isPurge = createPurgeTurns();
  const write = async (statement: PostgresQuery, signal: AbortSignal | undefined) =>
    (await send(statement, signal)).length === 1;
  const getMany = async (keys: readonly string[], time: number, signal?: AbortSignal) => {
    const rows = await send(statements.get(keys, time), signal);
    const found = new Map((rows as ({ key: string } & StoredText)[]).map((row) => [row.key, row]));
    return keys.map((key) => found.get(escapeText(key)));
  };

  const notify = (payload: string, signal?: AbortSignal) =>
    send({ text: "SELECT pg_notify($1, $2)", values: [noticeChannel(table), payload] }, signal);
  const onDeaf = guarded(options.onDeaf ?? warnOnce(() => deaf));

  return {
    ...createDrivenStore(
      {
        name: "PostgreSQL",
        timeoutMs,
        onUnreadable,
        get: async (key, time, signal) => (await getMany([key], time, signal))[0],
        getMany,
        put: (record, time, signal) =>
          write(statements.put(record, time, isPurge([record])), signal),
        async touch(key, at, time, signal) {
          await send(statements.touch(key, at, time), signal);
        },
        async delete(key, ifRevision, time, signal) {
          const isDone = await write(statements.delete(key, ifRevision, time), signal);
          return isDone || ifRevision === undefined;
        },
        async list(selection, time, signal) {
          const rows = await send(postgresList(name, selection, time), signal);
          return readPostgresPage(rows as PostgresRow[], selection.limit);
        },
        batch: (steps, time, signal) =>
          makePostgresBatch(send, signal, name, steps, time, isPurge(steps)),
        ...(listen && {
          async publish(topic, signal) {
            await notify(noticePayload(topic), signal);
          },
          subscribe: createPostgresNotices(listen, noticeChannel(table), { notify, onDeaf }),
        }),
      },
      now,
    ),
    createTables: () =>
      attemptInStore(
        "PostgreSQL",
        "createTables",
        async ({ signal }) => void (await send(makePostgresTables({ schema, table }), signal)),
        timeoutMs,
      ),
  };
}

const deaf =
  "durable-mcp: PostgreSQL takes LISTEN, and no notice arrives: a pooler stands between. The store looks every 500 ms instead. Give listen a direct connection, or set listen: false. onDeaf hears of this instead of the console.";

function connect(options: PostgresStoreOptions) {
  const { query } = options;
  if (query) return { sendOnce: sendThroughQuery(query), listen: options.listen };
  const { pool, prepare = true, listen = true } = options;
  const isConnecting = isConnectingPool(pool);
  return {
    sendOnce: sendThroughPool(pool, prepare && isConnecting),
    listen: listen && isConnecting ? listenThroughPool(pool) : undefined,
  };
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
function checkPostgresOptions(options: PostgresStoreOptions): void {
  const isOfPool = (options as Partial<PostgresStoreOptions> | null)?.query === undefined;
  checkKnown<Readonly<Record<keyof PostgresStoreOptions, unknown>>>(
    options as never,
    {
      ...{ ...storeKinds, schema: "anything", table: "anything", onDeaf: "function" },
      ...{ query: "function", listen: isOfPool ? "flag" : "function", prepare: "flag" },
      pool: { methods: ["query"], is: "a Pool of pg. For another driver, give query" },
    },
    { required: isOfPool ? ["pool"] : [] },
  );
  if (!isOfPool) {
    for (const option of ["pool", "prepare"] as const) {
      if (options[option] !== undefined)
        throw invalidOption(option, "must be left out beside query");
    }
  }
}
