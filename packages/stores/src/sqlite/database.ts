import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Opens a database file in WAL mode, and creates it if need be, readable by this user alone: what
 * will be in it are credentials.
 *
 * @param busyTimeoutMs how long to wait for other processes, in milliseconds
 */
export async function openSqliteDatabase(
  path: string,
  busyTimeoutMs: number,
): Promise<DatabaseSync> {
  if (path !== "" && !/^(:memory:$|file:)/.test(path)) closeSync(openSync(path, "a", 0o600));
  const deadline = performance.now() + busyTimeoutMs;
  for (;;) {
    const database = new DatabaseSync(path);
    try {
      // First: what follows may have to wait. (The option `timeout` is younger than Node 22.13.)
      database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      database.exec("PRAGMA journal_mode = WAL");
      return database;
    } catch (error) {
      database.close();
      // Only one connection can switch to WAL, and for that SQLite does not wait: two that did
      // would wait for each other.
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await sleep(5 + Math.random() * 45);
    }
  }
}

/** `SQLITE_BUSY` and its extended codes. */
function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === 5;
}
