import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { checkKnown, invalidOption } from "@durable-mcp/core/internal";
import { attemptInStore } from "@durable-mcp/core/store-driver";
import type * as Libsql from "@libsql/client";
import type * as Postgres from "pg";
import type * as Redis from "redis";

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** The table of SQLite, libSQL or PostgreSQL. @default "mcp_sessions" */
  readonly table?: string | undefined;
  /** The schema of PostgreSQL. @default the first of the `search_path` */
  readonly schema?: string | undefined;
  /** The prefix of Redis. @default "mcp-sessions" */
  readonly prefix?: string | undefined;
  /** Whether a missing table is created. SQLite creates it in any case. @default true */
  readonly createTables?: boolean | undefined;
  /** Called when an idle connection breaks. The next call makes another one. @default warns on the console */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Loads `pg`, `redis` or `@libsql/client`. @default imports what is installed */
  readonly loadDriver?: ((name: string) => Promise<unknown>) | undefined;
}

/** A store with a connection of its own. */
export interface OpenedStore {
  readonly store: SessionStore;
  /** Closes the connection. */
  readonly close: () => Promise<void>;
}

interface OpenParts extends OpenStoreOptions {
  readonly onError: (error: Error) => void;
  readonly loadDriver: (name: string) => Promise<unknown>;
}

type Opener = (address: string, options: OpenParts) => Promise<OpenedStore>;

const connectMs = 10_000;

const openSqlite: Opener = async (address, { table }) => {
  const { createSqliteStore } = await import("./sqlite.ts");
  const store = createSqliteStore({ path: address.replace(/^\w+:(?:\/\/(?=\/))?/, ""), table });
  return { store, close: store.close };
};

const openPostgres: Opener = async (connectionString, { table, schema, ...options }) => {
  const { createPostgresStore } = await import("./postgres.ts");
  const { default: pg } = (await options.loadDriver("pg")) as { default: typeof Postgres };
  const pool = new pg.Pool({ connectionString, allowExitOnIdle: true });
  pool.on("error", options.onError);
  const store = createPostgresStore({ pool, table, schema });
  return await made({ store, close: () => pool.end() }, options.createTables && store.createTables);
};

const openRedis: Opener = async (url, { prefix, onError, loadDriver }) => {
  const { createRedisStore } = await import("./redis.ts");
  const { createClient } = (await loadDriver("redis")) as typeof Redis;
  // The first connection fails at once; a later one that breaks is made again.
  let isConnected = false;
  const reconnectStrategy = (retries: number, cause: Error) =>
    isConnected ? Math.min(50 * 2 ** retries, 2_000) : cause;
  const socket = { connectTimeout: connectMs, reconnectStrategy };
  const client = createClient({ url, socket, disableOfflineQueue: true });
  client.on("error", onError);
  const close = async () => (isConnected ? client.close() : client.destroy());
  return await made({ store: createRedisStore({ client, prefix }), close }, async () => {
    await attemptInStore("Redis", "connect", () => client.connect(), connectMs);
    isConnected = true;
  });
};

const openLibsql: Opener = async (url, { table, createTables, loadDriver }) => {
  const { createLibsqlStore } = await import("./libsql.ts");
  const { createClient } = (await loadDriver("@libsql/client")) as typeof Libsql;
  const client = createClient({ url });
  const store = createLibsqlStore({ client, table });
  const close = async () => client.close();
  return await made({ store, close }, createTables && store.createTables);
};

/** What is opened, after it was made ready; closed if that failed. */
async function made(
  opened: OpenedStore,
  makeReady: false | undefined | (() => Promise<unknown>),
): Promise<OpenedStore> {
  try {
    if (makeReady) await makeReady();
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

const openers: Readonly<Record<string, Opener>> = {
  ...{ file: openSqlite, sqlite: openSqlite, libsql: openLibsql },
  ...{ postgres: openPostgres, postgresql: openPostgres, redis: openRedis, rediss: openRedis },
};

/** In a `try`, so that bundlers take what is installed, and nothing else. */
async function importDriver(name: string): Promise<unknown> {
  try {
    if (name === "pg") return await import("pg");
    return await (name === "redis" ? import("redis") : import("@libsql/client"));
  } catch (cause) {
    const message = `The address needs the package ${name}, which cannot be loaded. Install it.`;
    throw new McpSessionError("CONNECTION_INVALID", message, { data: { field: "address" }, cause });
  }
}

/**
 * Opens the store of an address: `file:sessions.db` (SQLite, by `node:sqlite`), `postgres://…` (by `pg`), `redis://…`
 * (by `redis`), or `libsql://…` (by `@libsql/client`; the `authToken` is in its query). Only the driver that is needed
 * is loaded. It creates the table if it is missing.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, which does not repeat the address; `STORE_FAILED`
 */
export async function openStore(
  address: string,
  options: OpenStoreOptions = {},
): Promise<OpenedStore> {
  checkKnown(options, {
    ...{ table: "anything", schema: "anything", prefix: "anything" },
    ...{ createTables: "flag", onError: "function", loadDriver: "function" },
  });
  const open = openers[/^([a-z]+):/.exec(address)?.[1] ?? ""];
  if (open === undefined)
    throw invalidOption("address", "must begin with file:, postgres://, redis:// or libsql://");
  if (open !== openSqlite && !URL.canParse(address))
    throw invalidOption("address", "must be a URL, with % codes in a password");
  const { createTables = true, loadDriver = importDriver, onError = warn } = options;
  return await open(address, { ...options, createTables, loadDriver, onError });
}

const warn = ({ message }: Error) => console.warn(`A connection of the store broke: ${message}`);
