import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, describe, expect, test } from "vitest";
import openSqlite from "../test/open-sqlite.ts";
import { sqliteList } from "./sqlite/list.ts";
import { sqliteStatements } from "./sqlite/statements.ts";
import { createSqliteStore } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the suite for stores", () => {
  const path = join(folder, "suite.db");
  testSessionStore({
    test,
    open: () => openSqlite(path),
    // In `sqlite.matrix.test.ts`.
    processes: false,
    async plant(key, text) {
      const database = new DatabaseSync(path);
      database.prepare("UPDATE mcp_sessions SET value = ? WHERE key = ?").run(text, key);
      database.close();
    },
  });
});

test("creates the file for this user alone", async () => {
  const path = join(folder, "private.db");
  const store = createSqliteStore({ path });
  await store.put("k", 1, null, { owner: "o" });
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  await store.close();
});

test("sets WAL and a busy time-out", async () => {
  const path = join(folder, "modes.db");
  await openSqlite(path).store.get("k");
  const database = new DatabaseSync(path);
  expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  database.close();
});

test("does nothing before it is used, and fails when the file cannot be", async () => {
  const store = createSqliteStore({ path: join(folder, "no such folder", "sessions.db") });
  await expect(store.get("k")).rejects.toMatchObject({
    code: "STORE_FAILED",
    message: expect.not.stringContaining("no such folder"),
    cause: expect.objectContaining({ code: "ENOENT" }),
  });
});

test("tries again to open a file that could not be opened", async () => {
  const later = join(folder, "later");
  const store = createSqliteStore({ path: join(later, "sessions.db") });
  await expect(store.get("k")).rejects.toMatchObject({ code: "STORE_FAILED" });
  mkdirSync(later);
  expect(await store.get("k")).toBeUndefined();
  await store.close();
});

test("fails when another process holds the file for longer than the busy time-out", async () => {
  const path = join(folder, "held.db");
  const store = createSqliteStore({ path, busyTimeoutMs: 20 });
  await store.put("k", 1, null, { owner: "o" });
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  await expect(store.put("l", 1, null, { owner: "o" })).rejects.toMatchObject({
    code: "STORE_FAILED",
  });
  expect(await store.get("k")).toMatchObject({ value: 1 });
  other.exec("ROLLBACK");
  expect((await store.put("l", 1, null, { owner: "o" })).ok).toBe(true);
  other.close();
  await store.close();
});

/** Holds the write lock until `release`. */
async function startHeld(name: string, busyTimeoutMs?: number) {
  const path = join(folder, name);
  const store = createSqliteStore({ path, busyTimeoutMs });
  await store.put("k", 1, null, { owner: "o" });
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  return {
    ...{ path, store },
    release: () => other.exec("ROLLBACK"),
    close: async () => {
      other.close();
      await store.close();
    },
  };
}

describe("while another process holds the file", () => {
  test("this process goes on, and each call ends in its time", async () => {
    const { store, close } = await startHeld("stalled.db", 400);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const start = performance.now();
    const writes = Array.from({ length: 10 }, (_, n) =>
      store.put(`new ${n}`, 1, null, { owner: "o" }).catch((error: unknown) => error),
    );
    await expect(store.get("k")).resolves.toMatchObject({ value: 1 });
    expect(performance.now() - start).toBeLessThan(300);
    for (const error of await Promise.all(writes)) {
      expect(error).toMatchObject({
        code: "STORE_FAILED",
        message:
          "The SQLite store failed at put (SQLITE_BUSY): another process kept the file locked for longer than busyTimeoutMs. Look for a long transaction, or raise busyTimeoutMs. Nothing was written.",
      });
    }
    // Ten waits in a row would take four seconds, and stop everything else.
    const took = performance.now() - start;
    delay.disable();
    expect(took).toBeGreaterThanOrEqual(390);
    expect(took).toBeLessThan(2_000);
    expect(delay.max / 1e6).toBeLessThan(300);
    await close();
  });

  test("a write waits for its turn", async () => {
    const { store, release, close } = await startHeld("released.db");
    const write = store.put("l", 1, null, { owner: "o" });
    setTimeout(release, 30);
    expect((await write).ok).toBe(true);
    await close();
  });

  test("a store that opens the file waits too", async () => {
    const path = join(folder, "opened-later.db");
    const other = new DatabaseSync(path);
    other.exec("BEGIN EXCLUSIVE");
    const store = createSqliteStore({ path });
    const reading = store.get("k");
    setTimeout(() => other.exec("ROLLBACK"), 30);
    expect(await reading).toBeUndefined();
    other.close();
    await store.close();
  });

  test("a write that waits fails when the store is closed", async () => {
    const { store, close } = await startHeld("closed.db");
    const write = store.put("l", 1, null, { owner: "o" }).catch((error: unknown) => error);
    await store.close();
    expect(await write).toMatchObject({ message: expect.stringContaining("(STORE_CLOSED)") });
    await close();
  });

  test("a database of the application waits as long", async () => {
    const { path, release, close } = await startHeld("own.db");
    const database = new DatabaseSync(path);
    const store = createSqliteStore({ database });
    const write = store.put("l", 1, null, { owner: "o" });
    setTimeout(release, 30);
    expect((await write).ok).toBe(true);
    database.close();
    await close();
  });
});

test("makes what was asked for before it is closed", async () => {
  const path = join(folder, "asked-before.db");
  const store = createSqliteStore({ path });
  const write = store.put("k", 1, null, { owner: "o" });
  await store.close();
  expect(await write).toMatchObject({ ok: true });
  const again = createSqliteStore({ path });
  expect(await again.get("k")).toMatchObject({ value: 1 });
  await again.close();
});

/** Collects the commits of a database. */
function countCommits(database: DatabaseSync): readonly string[] {
  const commits: string[] = [];
  const prepare = database.prepare.bind(database);
  database.prepare = (sql) => {
    const statement = prepare(sql);
    if (sql !== "COMMIT") return statement;
    const run = statement.run.bind(statement);
    statement.run = () => {
      commits.push(sql);
      return run();
    };
    return statement;
  };
  return commits;
}

describe("writes of one turn of the event loop", () => {
  test("are one transaction, and each fails alone", async () => {
    const database = new DatabaseSync(join(folder, "grouped.db"));
    const commits = countCommits(database);
    const store = createSqliteStore({ database });
    await store.createTables();
    const put = (key: string) => store.put(key, 1, null, { owner: "o" });
    const answers = await Promise.all([put("a"), put("a"), put("b"), store.delete("c", "r")]);
    expect(answers.map(({ ok }) => ok)).toEqual([true, false, true, false]);
    // The tables were one too.
    expect(commits).toHaveLength(2);

    // This one has written before it finds what is in its way, so nothing of it may stay.
    const half = store.batch!([
      { type: "put", key: "new", value: 1, ifRevision: null, owner: "o" },
      { type: "put", key: "a", value: 2, ifRevision: null, owner: "o" },
    ]);
    expect((await Promise.all([put("d"), half, put("e")])).map(({ ok }) => ok)).toEqual([
      ...[true, false, true],
    ]);
    expect(await half).toMatchObject({ index: 1, current: { value: 1 } });
    const { records } = await store.list({ limit: 9 });
    expect(records.map(({ key }) => key)).toEqual(["a", "b", "d", "e"]);
    database.close();
  });

  test("fail alone when SQLite refuses one of them", async () => {
    const database = new DatabaseSync(":memory:");
    const store = createSqliteStore({ database });
    await store.createTables();
    await store.put("first", 1, null, { owner: "o" });
    const { page_count: pages } = database.prepare("PRAGMA page_count").get()!;
    database.exec(`PRAGMA max_page_count = ${Number(pages) + 5}`);
    const put = (key: string, length: number) =>
      store.put(key, "x".repeat(length), null, { owner: "o" });
    const large = put("b", 200_000).catch((error: unknown) => error);
    const small = [put("a", 10), put("c", 10)];
    expect(await large).toMatchObject({ message: expect.stringContaining("(SQLITE_FULL)") });
    expect((await Promise.all(small)).map(({ ok }) => ok)).toEqual([true, true]);
    expect(await store.get("b")).toBeUndefined();
    database.close();
  });

  test("wait for a transaction of the application, and are not part of it", async () => {
    const database = new DatabaseSync(join(folder, "transaction.db"));
    const store = createSqliteStore({ database, busyTimeoutMs: 200 });
    await store.createTables();
    database.exec("BEGIN");
    const write = store.put("k", 1, null, { owner: "o" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    database.exec("ROLLBACK");
    expect((await write).ok).toBe(true);
    database.exec("BEGIN");
    await expect(store.put("l", 1, null, { owner: "o" })).rejects.toThrow(
      /\(TRANSACTION_OPEN\): your database .* Nothing was written\.$/,
    );
    database.exec("ROLLBACK");
    expect(await store.get("k")).toMatchObject({ value: 1 });
    database.close();
  });
});

test.each([
  ["SQLITE_FULL", "PRAGMA max_page_count = 1", "the disk is full, or the file may not grow"],
  ["SQLITE_READONLY", "PRAGMA query_only = ON", "it only takes reads"],
])("says what %s means", async (code, pragma, what) => {
  const database = new DatabaseSync(":memory:");
  const store = createSqliteStore({ database });
  await store.createTables();
  database.exec(pragma);
  const value = "x".repeat(100_000);
  await expect(store.put("k", value, null, { owner: "o" })).rejects.toMatchObject({
    code: "STORE_FAILED",
    message: expect.stringMatching(`\\(${code}\\): ${what}\\..*Nothing was written\\.$`),
  });
  database.close();
});

test("lists a record whose times no number can hold", async () => {
  const database = new DatabaseSync(":memory:");
  const store = createSqliteStore({ database });
  await store.createTables();
  await store.put("a", 1, null, { owner: "o" });
  await store.put("b", 2, null, { owner: "o" });
  database.exec("UPDATE mcp_sessions SET last_used_at = 9223372036854775807 WHERE key = 'a'");
  const { records } = await store.list({ limit: 10 });
  expect(records.map(({ key }) => key)).toEqual(["a", "b"]);
  database.close();
});

test("works on a database of the application, which stays open", async () => {
  const database = new DatabaseSync(":memory:");
  const store = createSqliteStore({ database, table: 'odd "name"' });
  await expect(store.get("k")).rejects.toMatchObject({ code: "STORE_FAILED" });
  await store.createTables();
  await store.createTables();
  await store.put("k", 1, null, { owner: "o" });
  await store.close();
  await expect(store.get("k")).rejects.toMatchObject({ code: "STORE_FAILED" });
  expect(database.prepare('SELECT key FROM "odd ""name"""').all()).toHaveLength(1);
  database.close();
});

test("refuses options that contradict each other", () => {
  const database = new DatabaseSync(":memory:");
  const wrong = [
    () => createSqliteStore({}),
    () => createSqliteStore({ path: ":memory:", database }),
    () => createSqliteStore({ path: ":memory:", table: "é".repeat(25) }),
  ];
  for (const create of wrong) {
    expect(create).toThrow(expect.objectContaining({ code: "CONNECTION_INVALID" }));
  }
});

test("deletes what has expired as new records come", async () => {
  const database = new DatabaseSync(":memory:");
  let time = 0;
  const store = createSqliteStore({ database, now: () => time });
  await store.createTables();
  const put = (key: string) => store.put(key, 1, null, { owner: "o", expiresAt: time + 10 });
  for (let n = 0; n < 500; n += 1) {
    await put(`record ${n}`);
    time += 1;
  }
  const { count } = database.prepare("SELECT count(*) AS count FROM mcp_sessions").get() as {
    count: number;
  };
  // Ten that live, and what has come since the last purge.
  expect(count).toBeLessThan(50);
});

test("uses an index for each kind of listing and for what has expired", async () => {
  const database = new DatabaseSync(":memory:");
  const store = createSqliteStore({ database });
  await store.createTables();
  const none = { prefix: "", owner: undefined, idleSince: undefined, after: undefined, limit: 10 };
  const after = [5, "k"] as const;
  const plans = [
    [{ ...none, prefix: "a" }, "sqlite_autoindex_mcp_sessions_1 (key>? AND key<?)"],
    [{ ...none, prefix: "a", after }, "sqlite_autoindex_mcp_sessions_1 (key>? AND key<?)"],
    [{ ...none, owner: "o" }, "mcp_sessions_owner (owner=?)"],
    [{ ...none, owner: "o", after }, "mcp_sessions_owner (owner=? AND key>?)"],
    [{ ...none, owner: "o", prefix: "a" }, "mcp_sessions_owner (owner=? AND key>? AND key<?)"],
    [{ ...none, owner: "o", idleSince: 5 }, "mcp_sessions_owner (owner=?)"],
    [{ ...none, idleSince: 5 }, "mcp_sessions_last_used_at (last_used_at<?)"],
    [
      { ...none, idleSince: 5, after },
      "mcp_sessions_last_used_at ((last_used_at,key)>(?,?) AND last_used_at<?)",
    ],
    [{ ...none, idleSince: 5, prefix: "a" }, "mcp_sessions_last_used_at (last_used_at<?)"],
    [{ ...none, idleSince: 5, prefix: "due/a" }, "mcp_sessions_due (last_used_at<?)"],
    [
      { ...none, idleSince: 5, prefix: "due/a", after },
      "mcp_sessions_due ((last_used_at,key)>(?,?) AND last_used_at<?)",
    ],
  ] as const;
  // Without statistics and, as SQLite may have them, with some.
  for (const prepare of ["", "ANALYZE"]) {
    if (prepare) {
      for (let n = 0; n < 1_000; n += 1) {
        await store.put(`${n}`, 1, null, { owner: `${n % 10}`, expiresAt: Date.now() + 1e9 });
      }
      database.exec(prepare);
    }
    for (const [selection, plan] of plans) {
      const [sql, ...values] = sqliteList(selection, 1);
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
      // One step: no table is scanned, nothing is sorted.
      expect(steps.map(({ detail }) => detail)).toEqual([
        `SEARCH mcp_sessions USING INDEX ${plan}`,
      ]);
    }
  }
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${sqliteStatements().purge}`).all(1);
  expect(steps.map(({ detail }) => detail).join()).toContain(
    "mcp_sessions_expires_at (expires_at<?)",
  );
});
