import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Opens a database file in WAL mode, and creates it if needed, readable by this user alone, because it
 * will hold credentials.
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
      // This comes first, because the next statement may have to wait. (Node 22.13 has no option
      // `timeout`.)
      database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      database.exec("PRAGMA journal_mode = WAL");
      return database;
    } catch (error) {
      database.close();
      // Only one connection can switch to WAL, and SQLite does not wait for that, because two waiting
      // connections would wait for each other.
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
