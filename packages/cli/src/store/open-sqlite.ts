import { statSync } from "node:fs";
import type { StorePlace } from "./place.ts";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";

/** Opens a SQLite file that is there. It makes no file and no table. */
export async function openSqlite(path: string, table = "mcp_sessions"): Promise<StorePlace> {
  if (path === "") throw wrongUsage("--store: sqlite: needs a file, such as sqlite:sessions.db");
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

/** The error for a database that is not the application's, or not yet. */
export function noTable(table: string): CommandFailure {
  return new CommandFailure(
    `--table: the database has no table ${table}. Name your application's with --table, or correct --store.`,
  );
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
