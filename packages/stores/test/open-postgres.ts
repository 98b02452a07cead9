import type { OpenedStore } from "@durable-mcp/testing/store";
import pg from "pg";
import { createPostgresStore, type PostgresStoreOptions } from "../src/postgres.ts";
import { postgresUser } from "./postgres-user.ts";

/** A pool on the server at a port. */
export function createPool(port: number): pg.Pool {
  const pool = new pg.Pool({ host: "127.0.0.1", port, user: postgresUser, database: "postgres" });
  // A connection that breaks while it is not in use is reported here, and replaced by the pool.
  pool.on("error", () => undefined);
  return pool;
}

/** Opens the store on the server at a port. */
export default async function openPostgres(
  port: number,
  options: Pick<PostgresStoreOptions, "timeoutMs" | "now"> = {},
): Promise<OpenedStore> {
  const pool = createPool(port);
  const store = createPostgresStore({ pool, ...options });
  await store.createTables();
  let ended: Promise<void> | undefined;
  return { store, close: () => (ended ??= pool.end()) };
}
