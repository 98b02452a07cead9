import type { StoreBatchStep, StoreDriver, StoreWrite } from "@durable-mcp/core/store-driver";
import { escapeText } from "../base/key-text.ts";
import { readSqlitePage, sqliteList } from "./list.ts";
import { createPurgeTurns } from "../base/purge-turns.ts";
import {
  conflictText,
  type SqliteRow,
  type SqliteStatement,
  sqliteStatements,
} from "./statements.ts";

/** An SQLite database, by any driver. */
export interface SqliteDatabase {
  /** Runs a query, and sees all earlier writes. */
  readonly read: (statement: SqliteStatement) => Maybe<readonly SqliteRow[]>;
  /**
   * Runs statements one after the other in one transaction, of which other writers see all or nothing. Its
   * errors have SQLite's words in their messages.
   *
   * @returns the rows of each statement
   */
  readonly write: (
    statements: readonly SqliteStatement[],
  ) => Maybe<readonly (readonly SqliteRow[])[]>;
}

type Maybe<T> = T | Promise<T>;

/** The operations that all SQLite stores share. Each is one `read`, or one `write`. */
export function createSqliteDialect(database: SqliteDatabase, table?: string) {
  const sql = sqliteStatements(table);
  const putOf = ({ ifRevision, ...write }: StoreWrite, now: number): SqliteStatement => {
    const { key, text, revision, owner, expiresAt = null } = write;
    const values = [escapeText(key), text, revision, escapeText(owner), now, expiresAt] as const;
    return ifRevision === null ? [sql.insert, ...values] : [sql.update, ...values, ifRevision];
  };
  const deleteOf = (key: string, ifRevision: string | undefined, now: number): SqliteStatement =>
    ifRevision === undefined
      ? [sql.delete, escapeText(key)]
      : [sql.deleteRevision, escapeText(key), ifRevision, now];

  const read = async (statement: SqliteStatement, signal: AbortSignal | undefined) => {
    signal?.throwIfAborted();
    return await database.read(statement);
  };
  /** Whether the last statement has written. */
  const write = async (
    statements: readonly SqliteStatement[],
    signal: AbortSignal | undefined,
  ): Promise<boolean> => {
    signal?.throwIfAborted();
    return (await database.write(statements)).at(-1)!.length === 1;
  };

  const isPurge = createPurgeTurns();
  const purgeAfter = (steps: Parameters<typeof isPurge>[0], now: number) =>
    isPurge(steps) ? ([[sql.purge, now]] as const) : [];

  return {
    async get(key, now, signal) {
      const [row] = await read([sql.get, escapeText(key), now], signal);
      return row as { text: string; revision: string } | undefined;
    },
    async getMany(keys, now, signal) {
      const escaped = keys.map(escapeText);
      const rows = await read([sql.getMany, JSON.stringify(escaped), now], signal);
      const found = new Map(rows.map((row) => [row["key"], row]));
      return escaped.map((key) => found.get(key) as { text: string; revision: string } | undefined);
    },
    put: (put, now, signal) => write([...purgeAfter([put], now), putOf(put, now)], signal),
    async touch(key, at, now, signal) {
      await write([[sql.touch, escapeText(key), at, now]], signal);
    },
    async delete(key, ifRevision, now, signal) {
      const isDone = await write([deleteOf(key, ifRevision, now)], signal);
      return isDone || ifRevision === undefined;
    },
    async list(selection, now, signal) {
      const rows = await read(sqliteList(selection, now, table), signal);
      return readSqlitePage(rows, selection.limit);
    },
    async batch(steps, now, signal) {
      const writes = steps.map((step) =>
        step.type === "put" ? putOf(step, now) : deleteOf(step.key, step.ifRevision, now),
      );
      const check = [sql.check, conditionsOf(steps), now] as const;
      try {
        await write([check, ...purgeAfter(steps, now), ...writes], signal);
        return undefined;
      } catch (error) {
        const [, index] = conflict.exec(error instanceof Error ? error.message : "") ?? [];
        if (index === undefined) throw error;
        return Number(index);
      }
    },
  } satisfies Partial<StoreDriver>;
}

const conflict = new RegExp(`${conflictText}(\\d+)`);

/** The conditions of a batch, for `check`: one parameter, because some databases take few. */
function conditionsOf(steps: readonly StoreBatchStep[]): string {
  const conditions = steps.map(({ key, ifRevision }, index) => [
    index,
    escapeText(key),
    ifRevision,
  ]);
  return JSON.stringify(conditions.filter(([, , ifRevision]) => ifRevision !== undefined));
}
