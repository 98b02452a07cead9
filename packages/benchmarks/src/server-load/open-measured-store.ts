import { DatabaseSync } from "node:sqlite";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { createSqliteStore, sqliteTables } from "@durable-mcp/stores/sqlite";

/**
 * Opens a store in the process of a measured server, which loads no driver but its own.
 *
 * @param place the path of a file, or a port of 127.0.0.1
 */
export async function openMeasuredStore(kind: string, place: string): Promise<SessionStore> {
  if (kind === "memory") return createMemoryStore({ maxRecords: 1_000_000 });
  if (kind === "sqlite-full") return createSqliteStore({ path: place });
  if (kind === "sqlite-normal") {
    // Survives the death of processes; the last moments before a power failure may be lost.
    const database = new DatabaseSync(place);
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${sqliteTables()}`);
    return createSqliteStore({ database });
  }
  const { default: open } = await (kind === "postgres"
    ? import("../../../stores/test/open-postgres.ts")
    : import("../../../stores/test/open-redis.ts"));
  return (await open(Number(place))).store;
}
