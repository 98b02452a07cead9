import type { OpenedStore } from "@durable-mcp/testing/store";
import { createSqliteStore, type SqliteStoreOptions } from "../src/sqlite.ts";

/** Opens the SQLite file at a path. */
export default function openSqlite(
  path: string,
  options: Pick<SqliteStoreOptions, "busyTimeoutMs" | "now"> = {},
): OpenedStore {
  const store = createSqliteStore({ path, ...options });
  return { store, close: store.close };
}
