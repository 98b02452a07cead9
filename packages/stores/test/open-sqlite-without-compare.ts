import type { OpenedStore } from "@durable-mcp/testing/store";
import openSqlite from "./open-sqlite.ts";

/** A store that is wrong: it does not compare, so that processes overwrite each other's updates. */
export default function openSqliteWithoutCompare(path: string): OpenedStore {
  const { store, close } = openSqlite(path);
  const put: typeof store.put = async (key, value, _, options) =>
    store.put(key, value, (await store.get(key))?.revision ?? null, options);
  return { store: { ...store, put }, close };
}
