import { quoteName } from "../base/quote-name.ts";

/** Selects records that have not expired at `$now`. */
export const live = "(expires_at IS NULL OR expires_at > $now)";

/** The statements of the SQLite store. Each is atomic by itself. */
export function sqliteStatements(table?: string) {
  const name = quoteName(table);
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
    // Each new record deletes two expired ones, so expired records never pile up.
    purge: `DELETE FROM ${name} WHERE rowid IN
      (SELECT rowid FROM ${name} WHERE expires_at <= $now LIMIT 2)`,
    touch: `UPDATE ${name} SET last_used_at = $at
      WHERE key = $key AND last_used_at < $at AND ${live}`,
    delete: `DELETE FROM ${name} WHERE key = $key`,
    deleteRevision: `DELETE FROM ${name} WHERE key = $key AND revision = $ifRevision AND ${live}`,
  };
}
