import { createStoreListeners } from "@durable-mcp/core/store-driver";
import { escapeText, unescapeText } from "../base/key-text.ts";
import { allRows, type SqliteConnection } from "./database.ts";
import type { sqliteStatements } from "./statements.ts";
import type { SqliteWriteQueue } from "./write-queue.ts";

/** How often a process with subscribers looks whether another one has written, in milliseconds. */
const lookEveryMs = 150;
/** Each so many notices, the oldest are deleted. The newest stay, so that no number comes twice. */
const cleanEvery = 100;
const keptNotices = 500;

interface NoticeOptions {
  readonly sql: ReturnType<typeof sqliteStatements>;
  /** Creates the table of notices if it is missing. */
  readonly tables: string;
  readonly connect: () => SqliteConnection;
  readonly queue: SqliteWriteQueue;
}

/** What a process has seen of the file. */
interface Seen {
  /** Changes when another connection writes. */
  version: number;
  /** The last notice. */
  number: number;
}

/**
 * `publish` and `subscribe` of the SQLite store. A notice is a row. A process with subscribers asks SQLite
 * now and then for the file's version, which other connections' writes change. Only then it reads notices.
 */
export function createSqliteNotices({ sql, tables, connect, queue }: NoticeOptions) {
  let timer: NodeJS.Timeout | undefined;
  /** Unknown at first and after a failure. */
  let seen: Seen | undefined;
  let hasTable = false;

  const look = () => {
    try {
      const connection = connect();
      const version = versionOf(connection);
      if (seen === undefined) {
        connection.database.exec(tables);
        const newest = connection.statement(sql.newestNotice).get()!;
        seen = { version, number: Number(newest["number"]) };
        listeners.tellAll();
      } else if (version !== seen.version) {
        const rows = allRows(connection, [sql.noticesSince, seen.number]);
        seen.version = version;
        tellOf(rows, seen);
      }
    } catch {
      // Another process holds the file, or it is gone for now. The next look begins anew, and tells all.
      seen = undefined;
    }
  };
  const tellOf = (rows: readonly Record<string, unknown>[], last: Seen) => {
    const [first, newest = first] = [rows[0], rows.at(-1)];
    if (first === undefined) return;
    // Otherwise some were deleted before this process, which stood still, could read them.
    const isComplete = first["number"] === last.number + 1;
    last.number = Number(newest!["number"]);
    if (!isComplete) return listeners.tellAll();
    const topics = new Set(rows.map(({ topic }) => unescapeText(String(topic))));
    for (const topic of topics) listeners.tell(topic);
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    seen = undefined;
  };
  const listeners = createStoreListeners({
    isHearing: () => seen !== undefined,
    onTopic(_, isUsed) {
      if (!isUsed && listeners.topics().length === 0) stop();
      if (!isUsed || timer !== undefined) return;
      timer = setInterval(look, lookEveryMs).unref();
      queueMicrotask(look);
    },
  });

  const add = (connection: SqliteConnection, topic: string): number => {
    if (!hasTable) connection.database.exec(tables);
    const added = connection.statement(sql.addNotice).run({ 1: escapeText(topic) });
    const number = Number(added.lastInsertRowid);
    if (number % cleanEvery === 0) {
      allRows(connection, [sql.cleanNotices, number - keptNotices]);
    }
    return number;
  };
  return {
    async publish(topic: string): Promise<void> {
      const number = await queue.add((connection) => add(connection, topic));
      hasTable = true;
      // With those of other processes in between, it is read with them, and told twice.
      if (seen?.number === number - 1) seen.number = number;
      listeners.tell(topic);
    },
    subscribe: listeners.add,
    /** Ends the looks. */
    stop,
  };
}

function versionOf({ statement }: SqliteConnection): number {
  return Number(statement("PRAGMA data_version").get()!["data_version"]);
}
