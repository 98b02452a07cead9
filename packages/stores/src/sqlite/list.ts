import { isByDue, type StoreSelected, type StoreSelection } from "@durable-mcp/core/store-driver";
import { endOfPrefix, escapeText, unescapeText } from "../base/key-text.ts";
import { quoteName } from "../base/quote-name.ts";
import {
  isDueKey,
  live,
  type SqliteRow,
  type SqliteStatement,
  type SqliteValue,
} from "./statements.ts";

/**
 * The query for one page and one more row, which shows whether the page is the last. By idleness alone
 * it uses the index of `last_used_at`, so it costs no more than its rows. Otherwise it uses the order of
 * keys, which no write changes.
 */
export function sqliteList(
  selection: StoreSelection,
  now: number,
  table?: string,
): SqliteStatement {
  const { prefix, owner, idleSince, after, limit } = selection;
  const values: SqliteValue[] = [now];
  const bind = (value: SqliteValue) => `?${values.push(value)}`;
  const conditions = [live(1)];
  const isByIdleness = idleSince !== undefined && owner === undefined;

  if (isByDue(selection)) conditions.push(isDueKey);
  if (owner !== undefined) conditions.push(`owner = ${bind(escapeText(owner))}`);
  if (idleSince !== undefined) {
    // A unary plus keeps a condition away from the indexes.
    const lastUsedAt = isByIdleness ? "last_used_at" : "+last_used_at";
    conditions.push(`${lastUsedAt} <= ${bind(idleSince)}`);
  }
  if (after !== undefined && isByIdleness) {
    const position = `(${bind(after[0])}, ${bind(escapeText(after[1]))})`;
    conditions.push(`(last_used_at, key) > ${position}`);
  } else if (after !== undefined) {
    conditions.push(`key > ${bind(escapeText(after[1]))}`);
  }
  if (prefix !== "") {
    const key = isByIdleness ? "+key" : "key";
    conditions.push(`${key} >= ${bind(escapeText(prefix))}`);
    const end = endOfPrefix(escapeText(prefix));
    if (end !== undefined) conditions.push(`${key} < ${bind(end)}`);
  }
  const order = isByIdleness ? "last_used_at, key" : "key";
  // Times as reals: an integer that is too large for a number would fail the whole page.
  const sql = `SELECT key, value, revision, owner, CAST(last_used_at AS REAL) AS used_at,
      CAST(expires_at AS REAL) AS ends_at FROM ${quoteName(table)}
    WHERE ${conditions.join(" AND ")} ORDER BY ${order} LIMIT ${bind(limit + 1)}`;
  return [sql, ...values];
}

interface ListedRow {
  readonly key: string;
  readonly value: string;
  readonly revision: string;
  readonly owner: string;
  readonly used_at: number;
  readonly ends_at: number | null;
}

/** The page in the rows of `sqliteList`. */
export function readSqlitePage(rows: readonly SqliteRow[], limit: number): StoreSelected {
  const records = (rows as readonly unknown[] as ListedRow[]).slice(0, limit).map((row) => ({
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
