import { McpSessionError, type SessionStore, type StoredValue } from "@durable-mcp/core";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import type { StorePlace } from "./place.ts";
import { openSeals, type Seals } from "./seals.ts";
import { type StoreOptions, storeAddress } from "./store-options.ts";

/** A store that a command looks into. */
export interface OpenedStore extends Pick<StorePlace, "name" | "close">, Seals {
  /** With its values as they are in their place, sealed or not. */
  readonly raw: SessionStore;
}

/** Opens the store of the options. It makes nothing that is not there. */
async function openStore(options: StoreOptions): Promise<OpenedStore> {
  const { store: raw, name, close } = await openPlace(storeAddress(options), options);
  try {
    return { raw, name, close, ...(await openSeals(raw, options)) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Runs a command on a store, and closes the store after it. */
export async function withStore<T>(
  options: StoreOptions,
  run: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  const opened = await openStore(options);
  try {
    return await run(opened);
  } catch (error) {
    if (!McpSessionError.isInstance(error) || error.code !== "STORE_FAILED") throw error;
    throw new CommandFailure(`--store: ${error.message}`);
  } finally {
    await opened.close();
  }
}

async function openPlace(address: string, options: StoreOptions): Promise<StorePlace> {
  const scheme = /^([a-z]+):/.exec(address)?.[1] ?? "";
  const { schema, table, prefix } = options;
  switch (scheme) {
    case "sqlite": {
      refuse(options, ["schema", "prefix"], "SQLite");
      const { openSqlite } = await import("./open-sqlite.ts");
      return await openSqlite(address.replace(/^sqlite:(?:\/\/(?=.))?/, ""), table);
    }
    case "postgres":
    case "postgresql": {
      refuse(options, ["prefix"], "PostgreSQL");
      checkUrl(address, "postgres://user@host:5432/database");
      const { openPostgres } = await import("./open-postgres.ts");
      return await openPostgres(address, {
        ...(schema !== undefined && { schema }),
        ...(table !== undefined && { table }),
      });
    }
    case "redis":
    case "rediss": {
      refuse(options, ["table", "schema"], "Redis");
      checkUrl(address, "redis://host:6379");
      const { openRedis } = await import("./open-redis.ts");
      return await openRedis(address, prefix);
    }
    default:
      // What is there instead may hold a password.
      throw wrongUsage(
        "--store must begin with sqlite:, postgres:// or redis://, such as --store sqlite:sessions.db",
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

/** Reads a row's record again, as it is now; `undefined` if another process has removed it. */
export async function reread(
  { store, missing }: OpenedStore,
  { stored: { key } }: { readonly stored: { readonly key: string } },
): Promise<StoredValue | undefined> {
  const found = await store.get(key);
  if (found !== undefined) return found;
  const failure = missing();
  if (failure !== undefined) throw failure;
  return undefined;
}
