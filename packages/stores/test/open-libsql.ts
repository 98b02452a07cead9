import { createClient } from "@libsql/client";
import type { OpenedStore } from "@durable-mcp/testing/store";
import { createLibsqlStore } from "../src/libsql.ts";

/** Opens the SQLite file at a path with a client of libSQL. */
export default async function openLibsql(path: string): Promise<OpenedStore> {
  const client = createClient({ url: `file:${path}`, timeout: 5_000 });
  await client.execute("PRAGMA journal_mode = WAL");
  const store = createLibsqlStore({ client });
  await store.createTables();
  return { store, close: async () => client.close() };
}
