import type { SessionStore } from "@durable-mcp/core";

/**
 * Opens the store at a place: a URL of PostgreSQL (`postgres://…`) or Redis (`redis://…`), or else a
 * SQLite file. The drivers are loaded as they are needed.
 */
export async function openStore(
  place: string,
): Promise<{ store: SessionStore; close: () => Promise<void> }> {
  if (/^postgres(ql)?:/.test(place)) {
    const { createPostgresStore } = await import("@durable-mcp/stores/postgres");
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: place });
    pool.on("error", (error) => console.error("PostgreSQL:", error.message));
    const store = createPostgresStore({ pool });
    await store.createTables();
    return { store, close: () => pool.end() };
  }
  if (/^rediss?:/.test(place)) {
    const { createRedisStore } = await import("@durable-mcp/stores/redis");
    const { createClient } = await import("redis");
    const client = createClient({ url: place });
    client.on("error", (error: Error) => console.error("Redis:", error.message));
    await client.connect();
    return { store: createRedisStore({ client }), close: () => client.close() };
  }
  const { createSqliteStore } = await import("@durable-mcp/stores/sqlite");
  const store = createSqliteStore({ path: place });
  return { store, close: store.close };
}
