import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SessionStore } from "@durable-mcp/core";
import { attemptInStore } from "@durable-mcp/core/store-driver";
import type * as Redis from "redis";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { type StoreOptions, storeAddress } from "./store-options.ts";

/** A store as it is in its place, with its values as they are there. */
interface StorePlace {
  readonly store: SessionStore;
  /** What it is, for people: never its address. */
  readonly name: string;
  readonly close: () => Promise<void>;
}

const connectTimeoutMs = 10_000;

/** Opens the database of the options. It makes no file and no table. */
export async function openPlace(options: StoreOptions): Promise<StorePlace> {
  const address = storeAddress(options);
  const { schema, table = "mcp_sessions", prefix = "mcp-sessions" } = options;
  switch (/^([a-z]+):/.exec(address)?.[1]) {
    case "file":
    case "sqlite":
      refuse(options, ["schema", "prefix"], "SQLite");
      return await openSqlite(address.replace(/^\w+:(?:\/\/(?=.))?/, ""), table);
    case "libsql":
      refuse(options, ["schema", "prefix"], "libSQL");
      checkUrl(address, "libsql://database.turso.io?authToken=…");
      return await openTable(address, { table }, "libSQL");
    case "postgres":
    case "postgresql":
      refuse(options, ["prefix"], "PostgreSQL");
      checkUrl(address, "postgres://user@host:5432/database");
      return await openTable(address, { schema, table }, "PostgreSQL");
    case "redis":
    case "rediss":
      refuse(options, ["table", "schema"], "Redis");
      checkUrl(address, "redis://host:6379");
      return await openRedis(address, prefix);
    default:
      // What is there instead may hold a password.
      throw wrongUsage(
        "--store must begin with file:, postgres://, redis:// or libsql://, such as --store file:sessions.db",
      );
  }
}

function refuse(
  options: StoreOptions,
  names: readonly ("table" | "schema" | "prefix")[],
  what: string,
): void {
  const given = names.find((name) => options[name] !== undefined);
  if (given !== undefined) throw wrongUsage(`--${given}: ${what} has none. Leave it out.`);
}

/** The message of the parser would repeat the address. */
function checkUrl(address: string, example: string): void {
  if (URL.canParse(address)) return;
  throw wrongUsage(`--store is no URL. It should be like ${example}, with % codes in a password.`);
}

async function openSqlite(path: string, table: string): Promise<StorePlace> {
  if (path === "") throw wrongUsage("--store: file: needs a file, such as file:sessions.db");
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
    throw new CommandFailure(
      "--store: there is no such file. Give the path of your application's database, from here or from /.",
    );
  }
  const { DatabaseSync, createSqliteStore } = await withoutExperimentalWarning(async () => ({
    ...(await import("node:sqlite")),
    ...(await import("@durable-mcp/stores/sqlite")),
  }));
  const database = new DatabaseSync(path);
  try {
    // The store waits by itself.
    database.exec("PRAGMA busy_timeout = 0");
    const find = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
    if (find.get(table) === undefined) throw noTable(table);
  } catch (error) {
    database.close();
    if (error instanceof CommandFailure) throw error;
    const { errcode } = error as { errcode?: number };
    throw new CommandFailure(
      errcode === 26
        ? "--store: the file is no SQLite database. Correct the path."
        : `--store: the file could not be read (SQLite says ${errcode ?? "nothing"}). Look at its rights, and who uses it.`,
    );
  }
  const store = createSqliteStore({ database, table });
  const close = async () => {
    await store.close();
    database.close();
  };
  return { store, name: `the SQLite table ${table}`, close };
}

/** Some versions of Node warn when SQLite is loaded, which says nothing to who looks into a store. */
async function withoutExperimentalWarning<T>(load: () => Promise<T>): Promise<T> {
  const own = Object.getOwnPropertyDescriptor(process, "emitWarning")!;
  process.emitWarning = () => undefined;
  try {
    return await load();
  } finally {
    Object.defineProperty(process, "emitWarning", own);
  }
}

/** @param table of the application, which has made it */
async function openTable(
  address: string,
  { schema, table }: { readonly schema?: string | undefined; readonly table: string },
  what: "PostgreSQL" | "libSQL",
): Promise<StorePlace> {
  const { openStore } = await import("@durable-mcp/stores/open");
  const opened = await openStore(address, {
    ...{ schema, table, createTables: false },
    // A connection that breaks while it is not in use; the next query says more.
    onError: () => undefined,
    loadDriver: (name) => loadDriver(name, what),
  });
  return await tryOut({ ...opened, name: `the ${what} table ${table}` }, async () => {
    await opened.store.list({ limit: 1 }).catch((error: Error) => {
      const { code, message } = (error.cause ?? {}) as { code?: unknown; message?: unknown };
      const isMissing = code === "42P01" || /no such table/.test(String(message));
      throw isMissing ? noTable(table) : error;
    });
  });
}

async function openRedis(address: string, prefix: string): Promise<StorePlace> {
  const { createRedisStore } = await import("@durable-mcp/stores/redis");
  const { createClient } = await loadDriver<typeof Redis>("redis", "Redis");
  const client = createClient({
    url: address,
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false },
  });
  client.on("error", () => undefined);
  const store = createRedisStore({ client, prefix });
  const close = async () => {
    if (client.isOpen) client.destroy();
  };
  return await tryOut({ store, name: `the Redis prefix ${prefix}`, close }, async () => {
    await attemptInStore("Redis", "connect", () => client.connect(), connectTimeoutMs);
    await store.list({ limit: 1 });
  });
}

/** Makes a first request, so that a wrong address is said before the command begins. */
async function tryOut(place: StorePlace, request: () => Promise<void>): Promise<StorePlace> {
  try {
    await request();
    return place;
  } catch (error) {
    await place.close();
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`--store: ${(error as Error).message}`);
  }
}

/** The error for a database that is not the application's, or not yet. */
function noTable(table: string): CommandFailure {
  return new CommandFailure(
    `--table: the database has no table ${table}. Name your application's with --table, or correct --store.`,
  );
}

/** Loads the driver of a database: one that is installed with this program, or in the folder where it runs. */
export async function loadDriver<DRIVER>(name: string, what: string): Promise<DRIVER> {
  const hereOf = () => createRequire(join(process.cwd(), "package.json")).resolve(name);
  const imported =
    (await importFrom(() => name)) ?? (await importFrom(() => pathToFileURL(hereOf()).href));
  if (imported !== undefined) return imported as DRIVER;
  throw new CommandFailure(
    `--store: the driver for ${what} is missing. Run this where your application is installed, run "npm install ${name}", or with npx: npx -p @durable-mcp/cli -p ${name} durable-mcp …`,
  );
}

async function importFrom(locate: () => string): Promise<unknown> {
  try {
    return await import(locate());
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
