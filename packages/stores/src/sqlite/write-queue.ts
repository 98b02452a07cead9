import { setTimeout as sleep } from "node:timers/promises";
import type { SqliteConnection } from "./database.ts";
import { isBusy, pauseMs, transactionOpen } from "../base/retry-busy.ts";

/** Makes one write, with any number of statements. It is called again when its work was undone. */
type SqliteWrite<T> = (connection: SqliteConnection) => T;

interface Queued {
  readonly write: SqliteWrite<unknown>;
  readonly deadline: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface SqliteWriteQueue {
  /** Makes a write with all others of this turn of the event loop. Settles after they are committed. */
  readonly add: <T>(write: SqliteWrite<T>) => Promise<T>;
  /** Makes at once what waits. With another process in the way, that fails with the error. */
  readonly close: (error: Error) => void;
}

/**
 * Creates the queue of a store's writes. All that are asked for in one turn of the event loop are one
 * transaction, because a commit costs more than a write. Each is atomic by itself, and fails alone.
 *
 * @param connect opens the database, or throws
 * @param timeoutMs how long a write waits for other processes, in milliseconds
 */
export function createSqliteWriteQueue(
  connect: () => SqliteConnection,
  timeoutMs: number,
): SqliteWriteQueue {
  let waiting: Queued[] = [];
  let isRunning = false;

  /** Makes all that wait. What was made waits no more, also when it throws in the middle. */
  const makeAll = () => {
    const connection = connect();
    if (commitTogether(connection, waiting)) {
      waiting = [];
      return;
    }
    for (let one = waiting[0]; one !== undefined; one = waiting[0]) {
      commitAlone(connection, one);
      waiting.shift();
    }
  };
  /** Whether nothing waits any more. */
  const tryAll = (): boolean => {
    try {
      if (waiting.length > 0) makeAll();
    } catch (error) {
      const now = performance.now();
      const isOver = ({ deadline }: Queued) => deadline <= now || !isBusy(error);
      for (const each of waiting) if (isOver(each)) each.reject(error);
      waiting = waiting.filter((each) => !isOver(each));
    }
    return waiting.length === 0;
  };
  const run = async () => {
    for (let tries = 1; !tryAll(); tries += 1) {
      const left = Math.min(...waiting.map(({ deadline }) => deadline)) - performance.now();
      await sleep(Math.max(0, Math.min(left, pauseMs(tries))));
    }
    isRunning = false;
  };
  return {
    add<T>(write: SqliteWrite<T>) {
      return new Promise<T>((resolve, reject) => {
        const settle = resolve as (answer: unknown) => void;
        waiting.push({ write, deadline: performance.now() + timeoutMs, resolve: settle, reject });
        if (isRunning) return;
        isRunning = true;
        setImmediate(() => void run());
      });
    },
    close(error) {
      tryAll();
      for (const { reject } of waiting.splice(0)) reject(error);
    },
  };
}

/**
 * Makes all of them in one transaction. `false`: one of them failed, and none was made.
 *
 * @throws if another process is in the way
 */
function commitTogether(connection: SqliteConnection, queued: readonly Queued[]): boolean {
  const answers: unknown[] = [];
  begin(connection);
  try {
    for (const { write } of queued) answers.push(write(connection));
    connection.statement("COMMIT").run();
  } catch (error) {
    undo(connection);
    if (isBusy(error)) throw error;
    return false;
  }
  for (const [index, { resolve }] of queued.entries()) resolve(answers[index]);
  return true;
}

/**
 * Makes one in a transaction of its own, and settles it.
 *
 * @throws if another process is in the way
 */
function commitAlone(connection: SqliteConnection, { write, resolve, reject }: Queued): void {
  begin(connection);
  try {
    const answer = write(connection);
    connection.statement("COMMIT").run();
    resolve(answer);
  } catch (error) {
    undo(connection);
    if (isBusy(error)) throw error;
    reject(error);
  }
}

function begin({ statement }: SqliteConnection): void {
  try {
    statement("BEGIN IMMEDIATE").run();
  } catch (error) {
    throw transactionOpen(error) ?? error;
  }
}

function undo({ statement }: SqliteConnection): void {
  try {
    statement("ROLLBACK").run();
  } catch {
    // After some errors, such as a full disk, SQLite has done so by itself.
  }
}
