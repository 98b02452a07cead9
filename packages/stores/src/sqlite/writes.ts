import type { StoreBatchStep, StoreDriver, StoreWrite } from "@durable-mcp/core/store-driver";
import { escapeText } from "../base/key-text.ts";
import type { SqliteConnection } from "./database.ts";
import { putsPerPurge, type sqliteStatements } from "./statements.ts";
import type { SqliteOutcome, SqliteWriteQueue } from "./write-queue.ts";

type Statements = ReturnType<typeof sqliteStatements>;
type Writes = Required<Pick<StoreDriver, "put" | "touch" | "delete" | "batch">>;

/** The writes of the SQLite store, by way of its queue. */
export function createSqliteWrites(sql: Statements, queue: SqliteWriteQueue): Writes {
  // Each process begins anywhere, because many live for a few records.
  let putsUntilPurge = Math.floor(Math.random() * putsPerPurge);
  const purgeAfter = ({ statement }: SqliteConnection, added: number, time: number) => {
    putsUntilPurge -= added;
    if (putsUntilPurge > 0) return;
    putsUntilPurge = putsPerPurge;
    statement(sql.purge).run({ $now: time });
  };
  return {
    put: (write, time) =>
      queue.add((connection) => {
        if (write.ifRevision === null) purgeAfter(connection, 1, time);
        return { answer: putOne(connection, sql, write, time) };
      }),
    touch: (key, at, time) =>
      queue.add(({ statement }) => {
        statement(sql.touch).run({ $key: escapeText(key), $at: at, $now: time });
        return { answer: undefined };
      }),
    delete: (key, ifRevision, time) =>
      queue.add((connection) => ({ answer: deleteOne(connection, sql, key, ifRevision, time) })),
    batch: (steps, time) =>
      queue.add((connection) => {
        const added = steps.filter(({ ifRevision }) => ifRevision === null).length;
        if (added > 0) purgeAfter(connection, added, time);
        return makeBatch(connection, sql, steps, time);
      }),
  };
}

/** Whether it was stored. */
function putOne(
  { statement }: SqliteConnection,
  sql: Statements,
  { key, text, revision, ifRevision, owner, expiresAt }: StoreWrite,
  now: number,
): boolean {
  const record = {
    ...{ $key: escapeText(key), $text: text, $revision: revision },
    ...{ $owner: escapeText(owner), $now: now, $expiresAt: expiresAt ?? null },
  };
  const { changes } =
    ifRevision === null
      ? statement(sql.insert).run(record)
      : statement(sql.update).run({ ...record, $ifRevision: ifRevision });
  return changes === 1;
}

/** Whether it was there, or need not have been. */
function deleteOne(
  { statement }: SqliteConnection,
  sql: Statements,
  key: string,
  ifRevision: string | undefined,
  now: number,
): boolean {
  if (ifRevision === undefined) {
    statement(sql.delete).run({ $key: escapeText(key) });
    return true;
  }
  const values = { $key: escapeText(key), $ifRevision: ifRevision, $now: now };
  return statement(sql.deleteRevision).run(values).changes === 1;
}

/** Answers the index of the first step whose condition does not hold. */
function makeBatch(
  connection: SqliteConnection,
  sql: Statements,
  steps: readonly StoreBatchStep[],
  now: number,
): SqliteOutcome<number | undefined> {
  for (const [index, step] of steps.entries()) {
    const isDone =
      step.type === "put"
        ? putOne(connection, sql, step, now)
        : deleteOne(connection, sql, step.key, step.ifRevision, now);
    if (!isDone) return { answer: index, isToUndo: index > 0 };
  }
  return { answer: undefined };
}
