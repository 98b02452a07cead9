import type { StoreSelected, StoreSelection } from "@durable-mcp/core/store-driver";
import { endOfPrefix, escapeText, unescapeText } from "../base/key-text.ts";
import { quoteName } from "../base/quote-name.ts";
import { live } from "./statements.ts";

/** A row of `sqliteList`. */
export interface SqliteRow {
  readonly key: string;
  readonly value: string;
  readonly revision: string;
  readonly owner: string;
  readonly used_at: number;
  readonly ends_at: number | null;
}

/**
 * The query for one page and one more row, which shows whether the page is the last. By idleness alone
 * it uses the index of `last_used_at`, so it costs no more than its rows. Otherwise it uses the order of
 * keys, which no write changes.
 */
export function sqliteList(
  { prefix, owner, idleSince, after, limit }: StoreSelection,
  now: number,
  table?: string,
): { readonly sql: string; readonly values: Record<string, string | number> } {
  const values: Record<string, string | number> = { $now: now, $limit: limit + 1 };
  const conditions = [live];
  const add = (condition: string, given: Record<string, string | number>) => {
    conditions.push(condition);
    Object.assign(values, given);
  };
  const isByIdleness = idleSince !== undefined && owner === undefined;

  if (owner !== undefined) add("owner = $owner", { $owner: escapeText(owner) });
  if (idleSince !== undefined) {
    // A unary plus keeps a condition away from the indexes.
    const lastUsedAt = isByIdleness ? "last_used_at" : "+last_used_at";
    add(`${lastUsedAt} <= $idleSince`, { $idleSince: idleSince });
  }
  if (after !== undefined && isByIdleness) {
    add("(last_used_at, key) > ($at, $after)", { $at: after[0], $after: escapeText(after[1]) });
  } else if (after !== undefined) {
    add("key > $after", { $after: escapeText(after[1]) });
  }
  if (prefix !== "") {
    const key = isByIdleness ? "+key" : "key";
    add(`${key} >= $prefix`, { $prefix: escapeText(prefix) });
    const end = endOfPrefix(escapeText(prefix));
    if (end !== undefined) add(`${key} < $end`, { $end: end });
  }
  const order = isByIdleness ? "last_used_at, key" : "key";
  return {
    // As reals: an integer that is too large for a number would fail the whole page.
    sql: `SELECT key, value, revision, owner, CAST(last_used_at AS REAL) AS used_at,
        CAST(expires_at AS REAL) AS ends_at FROM ${quoteName(table)}
      WHERE ${conditions.join(" AND ")} ORDER BY ${order} LIMIT $limit`,
    values,
  };
}

/** The page in the rows of `sqliteList`. */
export function readSqlitePage(rows: readonly SqliteRow[], limit: number): StoreSelected {
  const records = rows.slice(0, limit).map((row) => ({
    key: unescapeText(row.key),
    text: row.value,
    revision: row.revision,
    owner: unescapeText(row.owner),
    lastUsedAt: row.used_at,
    expiresAt: row.ends_at ?? undefined,
  }));
  const last = records.at(-1);
  if (last === undefined || rows.length === records.length) return { records };
  return { records, end: [last.lastUsedAt, last.key] };
}
