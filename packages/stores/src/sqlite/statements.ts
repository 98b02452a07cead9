import { quoteName } from "../base/quote-name.ts";

/** Selects records that have not expired at `$now`. */
export const live = "(expires_at IS NULL OR expires_at > $now)";

/** How many new records come between two purges of one process. */
export const putsPerPurge = 32;

/** The statements of the SQLite store. Each is atomic by itself. */
export function sqliteStatements(table?: string) {
  const name = quoteName(table);
  const notices = quoteName(table, "notices");
  return {
    get: `SELECT value AS text, revision FROM ${name} WHERE key = $key AND ${live}`,
    insert: `INSERT INTO ${name} (key, value, revision, owner, last_used_at, expires_at)
      VALUES ($key, $text, $revision, $owner, $now, $expiresAt)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision,
        owner = excluded.owner, last_used_at = excluded.last_used_at, expires_at = excluded.expires_at
      WHERE expires_at <= $now`,
    update: `UPDATE ${name} SET value = $text, revision = $revision, owner = $owner,
        last_used_at = max(last_used_at, $now), expires_at = $expiresAt
      WHERE key = $key AND revision = $ifRevision AND ${live}`,
    // Expired records never pile up, because a purge deletes more than came since the last one.
    purge: `DELETE FROM ${name} WHERE rowid IN
      (SELECT rowid FROM ${name} WHERE expires_at <= $now LIMIT ${2 * putsPerPurge})`,
    touch: `UPDATE ${name} SET last_used_at = $at
      WHERE key = $key AND last_used_at < $at AND ${live}`,
    delete: `DELETE FROM ${name} WHERE key = $key`,
    deleteRevision: `DELETE FROM ${name} WHERE key = $key AND revision = $ifRevision AND ${live}`,
    addNotice: `INSERT INTO ${notices} (topic) VALUES ($topic)`,
    newestNotice: `SELECT coalesce(max(number), 0) AS number FROM ${notices}`,
    noticesSince: `SELECT number, topic FROM ${notices} WHERE number > $number ORDER BY number`,
    cleanNotices: `DELETE FROM ${notices} WHERE number <= $number`,
  };
}
