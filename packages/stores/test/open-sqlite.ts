import type { OpenedStore } from "@durable-mcp/core/testing";
import { createSqliteStore } from "../src/sqlite.ts";

/** Opens the SQLite file at a path. */
export default function openSqlite(path: string): OpenedStore {
  const store = createSqliteStore({ path });
  return { store, close: store.close };
}
