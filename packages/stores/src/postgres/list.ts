import { isByDue, type StoreSelected, type StoreSelection } from "@durable-mcp/core/store-driver";
import { endOfPrefix, escapeText, unescapeText } from "../base/key-text.ts";
import { createPostgresValues, type PostgresQuery, sha256 } from "./query.ts";
import { indexedKeyLength, isDueKey } from "./tables.ts";

/**
 * A row of `postgresList`. A driver returns a bigint as it likes, and some spell column names of several words
 * in their own way.
 */
export interface PostgresRow {
  readonly key: string;
  readonly value: string;
  readonly revision: string;
  readonly owner: string;
  readonly used: string | number | bigint;
  readonly expires: string | number | bigint | null;
}

/**
 * The query for one page and one more row, which shows whether the page is the last. An owner's records
 * come in the order of their keys' hashes. Idle records come in the order of their last use, so a page
 * costs no more than its rows. All others come in the order of their keys.
 */
export function postgresList(name: string, selection: StoreSelection, now: number): PostgresQuery {
  const { prefix, owner, idleSince, after, limit } = selection;
  const { value, values } = createPostgresValues();
  const conditions = [`(expires_at IS NULL OR expires_at > ${value(now)})`];
  const keyStart = `left(key, ${indexedKeyLength})`;
  const start = escapeText(prefix);
  if (isByDue(selection)) conditions.push(isDueKey);
  if (prefix !== "") conditions.push(`starts_with(key, ${value(start)})`);
  if (idleSince !== undefined) conditions.push(`last_used_at <= ${value(idleSince)}`);

  let order: string;
  let position: (key: string) => string;
  if (owner !== undefined) {
    const escapedOwner = escapeText(owner);
    conditions.push(`owner_hash = ${value(sha256(escapedOwner))}`);
    conditions.push(`owner = ${value(escapedOwner)}`);
    order = "key_hash";
    position = (key) => value(sha256(key));
  } else if (idleSince !== undefined) {
    order = "last_used_at, key_hash";
    position = (key) => `${value(after![0])}, ${value(sha256(key))}`;
  } else {
    order = `${keyStart}, key_hash`;
    position = (key) => `${value(indexedStart(key))}, ${value(sha256(key))}`;
    if (prefix !== "") {
      conditions.push(`${keyStart} >= ${value(indexedStart(start))}`);
      const end = endOfPrefix(indexedStart(start));
      if (end !== undefined) conditions.push(`${keyStart} < ${value(end)}`);
    }
  }
  if (after !== undefined) conditions.push(`(${order}) > (${position(escapeText(after[1]))})`);
  const text = `SELECT key, value, revision, owner, last_used_at AS used, expires_at AS expires
    FROM ${name}
    WHERE ${conditions.join(" AND ")} ORDER BY ${order} LIMIT ${value(limit + 1)}`;
  return { text, values, isVaried: true };
}

/** The page in the rows of `postgresList`. */
export function readPostgresPage(rows: readonly PostgresRow[], limit: number): StoreSelected {
  const records = rows.slice(0, limit).map((row) => ({
    key: unescapeText(row.key),
    text: row.value,
    revision: row.revision,
    owner: unescapeText(row.owner),
    lastUsedAt: Number(row.used),
    expiresAt: row.expires === null ? undefined : Number(row.expires),
  }));
  const last = records.at(-1);
  if (last === undefined || rows.length === records.length) return { records };
  return { records, end: [last.lastUsedAt, last.key] };
}

/** Counts code points, like PostgreSQL's `left`. */
function indexedStart(text: string): string {
  if (text.length <= indexedKeyLength) return text;
  return Array.from(text).slice(0, indexedKeyLength).join("");
}
