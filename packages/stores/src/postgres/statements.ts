import type { StoreWrite } from "@durable-mcp/core/store-driver";
import { escapeText } from "../base/key-text.ts";
import { putsPerPurge } from "../base/purge-turns.ts";
import { createPostgresValues, type PostgresQuery, sha256 } from "./query.ts";

/** The statements of the PostgreSQL store on one table. Each is atomic by itself. Writes return what they wrote. */
export function postgresStatements(name: string) {
  return {
    get(keys: readonly string[], now: number): PostgresQuery {
      const { value, values } = createPostgresValues();
      const hashes = keys.map((key) => value(sha256(escapeText(key))));
      const text = `SELECT key, value AS text, revision FROM ${name}
        WHERE key_hash IN (${hashes.join()}) AND ${live(value(now))}`;
      return { text, values };
    },
    /** @param isPurge whether it also deletes what has expired, if it is a new record */
    put(
      { key, ifRevision, expiresAt, ...write }: StoreWrite,
      now: number,
      isPurge: boolean,
    ): PostgresQuery {
      const { value, values } = createPostgresValues();
      const escapedKey = escapeText(key);
      const owner = escapeText(write.owner);
      const keyHash = value(sha256(escapedKey));
      const time = value(now);
      const given = {
        value: value(write.text),
        revision: value(write.revision),
        ownerHash: value(sha256(owner)),
        owner: value(owner),
        expiresAt: value(expiresAt ?? null),
      };
      if (ifRevision !== null) {
        const text = `UPDATE ${name} SET value = ${given.value}, revision = ${given.revision},
            owner_hash = ${given.ownerHash}, owner = ${given.owner},
            last_used_at = greatest(last_used_at, ${time}), expires_at = ${given.expiresAt}
          WHERE key_hash = ${keyHash} AND revision = ${value(escapeText(ifRevision))}
            AND ${live(time)} RETURNING 1`;
        return { text, values };
      }
      const purge = isPurge ? `WITH expired AS (${expired(name, time, [keyHash])})` : "";
      const text = `${purge}
        INSERT INTO ${name} AS stored
          (key_hash, key, value, revision, owner_hash, owner, last_used_at, expires_at)
        VALUES (${keyHash}, ${value(escapedKey)}, ${given.value}, ${given.revision},
          ${given.ownerHash}, ${given.owner}, ${time}, ${given.expiresAt})
        ON CONFLICT (key_hash) DO UPDATE SET value = excluded.value, revision = excluded.revision,
          owner_hash = excluded.owner_hash, owner = excluded.owner,
          last_used_at = excluded.last_used_at, expires_at = excluded.expires_at
        WHERE stored.expires_at <= ${time} RETURNING 1`;
      return { text, values };
    },
    touch(key: string, at: number, now: number): PostgresQuery {
      const { value, values } = createPostgresValues();
      const time = value(at);
      const text = `UPDATE ${name} SET last_used_at = ${time}
        WHERE key_hash = ${value(sha256(escapeText(key)))} AND last_used_at < ${time}
          AND ${live(value(now))}`;
      return { text, values };
    },
    delete(key: string, ifRevision: string | undefined, now: number): PostgresQuery {
      const { value, values } = createPostgresValues();
      const text = `DELETE FROM ${name} WHERE key_hash = ${value(sha256(escapeText(key)))}`;
      if (ifRevision === undefined) return { text, values };
      const isIt = `revision = ${value(escapeText(ifRevision))} AND ${live(value(now))}`;
      return { text: `${text} AND ${isIt} RETURNING 1`, values };
    },
  };
}

/** Deletes expired records, but none of these keys. */
export function expired(name: string, now: string, keyHashes: readonly string[]): string {
  return `DELETE FROM ${name} WHERE key_hash IN (
      SELECT key_hash FROM ${name} WHERE expires_at <= ${now}
        AND key_hash NOT IN (${keyHashes.join(", ")})
      LIMIT ${2 * putsPerPurge} FOR UPDATE SKIP LOCKED)`;
}

/** Selects records that have not expired. */
export function live(now: string): string {
  return `(expires_at IS NULL OR expires_at > ${now})`;
}
