import { dueStart } from "@durable-mcp/core/store-driver";
import { putsPerPurge } from "../base/purge-turns.ts";
import { quoteName } from "../base/quote-name.ts";

/** Selects records that have not expired at the time in the parameter with this number. */
export const live = (now: number) => `(expires_at IS NULL OR expires_at > ?${now})`;

/** The condition of the partial index, which a query has to repeat word by word. */
export const isDueKey = `substr(key, 1, ${dueStart.length}) = '${dueStart}'`;

export type SqliteValue = string | number | null;

/** A statement, and the values of its parameters `?1`, `?2` and so on. */
export type SqliteStatement = readonly [sql: string, ...values: SqliteValue[]];

export type SqliteRow = Readonly<Record<string, unknown>>;

/** How `check` says the index of the write whose condition does not hold. */
export const conflictText = "conflict at ";

/** The statements of all SQLite stores. Each is atomic by itself, and a write that is done has one row. */
export function sqliteStatements(table?: string) {
  const name = quoteName(table);
  const notices = quoteName(table, "notices");
  return {
    get: `SELECT value AS text, revision FROM ${name} WHERE key = ?1 AND ${live(2)}`,
    getMany: `SELECT key, value AS text, revision FROM ${name}
      WHERE key IN (SELECT value FROM json_each(?1)) AND ${live(2)}`,
    insert: `INSERT INTO ${name} (key, value, revision, owner, last_used_at, expires_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision,
        owner = excluded.owner, last_used_at = excluded.last_used_at, expires_at = excluded.expires_at
      WHERE expires_at <= ?5 RETURNING 1`,
    update: `UPDATE ${name} SET value = ?2, revision = ?3, owner = ?4,
        last_used_at = max(last_used_at, ?5), expires_at = ?6
      WHERE key = ?1 AND revision = ?7 AND ${live(5)} RETURNING 1`,
    purge: `DELETE FROM ${name} WHERE rowid IN
      (SELECT rowid FROM ${name} WHERE expires_at <= ?1 LIMIT ${2 * putsPerPurge})`,
    touch: `UPDATE ${name} SET last_used_at = ?2 WHERE key = ?1 AND last_used_at < ?2 AND ${live(3)}`,
    delete: `DELETE FROM ${name} WHERE key = ?1`,
    deleteRevision: `DELETE FROM ${name} WHERE key = ?1 AND revision = ?2 AND ${live(3)} RETURNING 1`,
    // Fails if a condition does not hold, so that nothing of its transaction is done: no JSON has such a path.
    check: `SELECT json_extract('{}', '${conflictText}' || min(step.value ->> 0))
      FROM json_each(?1) AS step LEFT JOIN ${name} AS stored
        ON stored.key = step.value ->> 1 AND ${live(2)}
      WHERE stored.revision IS NOT step.value ->> 2`,
    addNotice: `INSERT INTO ${notices} (topic) VALUES (?1)`,
    newestNotice: `SELECT coalesce(max(number), 0) AS number FROM ${notices}`,
    noticesSince: `SELECT number, topic FROM ${notices} WHERE number > ?1 ORDER BY number`,
    cleanNotices: `DELETE FROM ${notices} WHERE number <= ?1`,
  };
}
