import type { SessionStore } from "@durable-mcp/core";

/** The store that `where` names: a PostgreSQL or Redis URL, a SQLite file; none is this process's memory. */
export async function openStore(where: string | undefined): Promise<SessionStore | undefined> {
  if (where === undefined) return undefined;
  if (where.startsWith("postgres")) return await openPostgres(where);
  if (where.startsWith("redis")) return await openRedis(where);
  const { createSqliteStore } = await import("@durable-mcp/stores/sqlite");
  return createSqliteStore({ path: where });
}

async function openPostgres(url: string): Promise<SessionStore> {
  const { createPostgresStore } = await import("@durable-mcp/stores/postgres");
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: url });
  pool.on("error", (error) => console.error(error));
  const store = createPostgresStore({ pool });
  await store.createTables();
  return store;
}

async function openRedis(url: string): Promise<SessionStore> {
  const { createRedisStore } = await import("@durable-mcp/stores/redis");
  const { createClient } = await import("redis");
  const client = createClient({ url });
  client.on("error", (error) => console.error(error));
  await client.connect();
  return createRedisStore({ client });
}
