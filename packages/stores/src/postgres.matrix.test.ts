import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { testSessionStore } from "@durable-mcp/testing/store";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import openPostgres, { createPool } from "../test/open-postgres.ts";
import { postgresUnavailable, startPostgres } from "../test/postgres-server.ts";
import { postgresUser } from "../test/postgres-user.ts";
import type { DatabaseServer } from "../test/start-server.ts";
import { postgresList } from "./postgres/list.ts";
import type { PostgresQuery } from "./postgres/query.ts";
import { postgresStatements } from "./postgres/statements.ts";
import { createPostgresStore, type PostgresStore, postgresTables } from "./postgres.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: postgres: ${postgresUnavailable}`);

describe.skipIf(postgresUnavailable !== undefined)("on a real server", () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.remove());

  describe("the suite for stores", () => {
    testSessionStore({
      test,
      open: () => openPostgres(server.port),
      async plant(key, text) {
        const pool = createPool(server.port);
        await pool.query("UPDATE mcp_sessions SET value = $1 WHERE key = $2", [text, key]);
        await pool.end();
      },
      processes: {
        module: new URL("../test/open-postgres.ts", import.meta.url),
        data: () => server.port,
        execArgv: ["--conditions=@durable-mcp/source"],
      },
      server: { kill: () => server.kill(), start: () => server.start() },
    });
  });

  /** A store on a table of its own. */
  async function withTable(
    table: string,
    run: (store: PostgresStore, pool: pg.Pool) => Promise<void>,
  ): Promise<void> {
    const pool = createPool(server.port);
    try {
      const store = createPostgresStore({ pool, table });
      await store.createTables();
      await run(store, pool);
    } finally {
      await pool.end();
    }
  }

  test.each(["reference/stores.md", "guides/durable-sessions.md"])(
    "keeps no process from its end, as docs/%s makes it",
    (page) => {
      const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8");
      const [, code = ""] = /```ts\n([^`]*new pg\.Pool[^`]*)```/.exec(text) ?? [];
      const use = `await store.get("a");
      const { setImmediate } = await import("node:timers/promises");
      await setImmediate();
      console.log(JSON.stringify(process.getActiveResourcesInfo()));`;
      const args = ["--conditions=@durable-mcp/source", "--input-type=module-typescript", "-e"];
      const printed = execFileSync(process.execPath, [...args, `${code}\n${use}`], {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
        env: {
          ...process.env,
          DATABASE_URL: `postgres://${postgresUser}@127.0.0.1:${server.port}/postgres`,
        },
        encoding: "utf8",
      });
      const alive: string[] = JSON.parse(printed);
      expect(alive.filter((one) => /TCP|Timeout/.test(one))).toEqual([]);
    },
  );

  test("creates its table any number of times, at once too", async () => {
    const pools = Array.from({ length: 6 }, () => createPool(server.port));
    const stores = pools.map((pool) => createPostgresStore({ pool, table: "at once" }));
    await Promise.all(stores.flatMap((store) => [store.createTables(), store.createTables()]));
    await Promise.all(stores.map((store, n) => store.put(`${n}`, n, null, { owner: "o" })));
    expect((await stores[0]!.list({ owner: "o", limit: 10 })).records).toHaveLength(6);
    await Promise.all(pools.map((pool) => pool.end()));
  });

  test("works in a schema and on a table of any name", async () => {
    const pool = createPool(server.port);
    await pool.query('CREATE SCHEMA "odd ""schema"""');
    const names = { schema: 'odd "schema"', table: "odd'\"table$1;é".padEnd(40, "x") };
    const store = createPostgresStore({ pool, ...names });
    await expect(store.get("k")).rejects.toMatchObject({ code: "STORE_FAILED" });
    await store.createTables();
    expect(await store.put("k", 1, null, { owner: "o" })).toMatchObject({ ok: true });
    await pool.query(postgresTables(names));
    expect(await store.get("k")).toMatchObject({ value: 1 });
    await pool.end();
  });

  test("answers with conflicts where the database isolates transactions strictly", async () => {
    await withTable("strict", async (store, pool) => {
      await pool.query(
        "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'",
      );
      const strict = createPool(server.port);
      try {
        const strictStore = createPostgresStore({ pool: strict, table: "strict" });
        for (let round = 0; round < 10; round += 1) {
          const current = await store.get("k");
          const answers = await Promise.all(
            Array.from({ length: 8 }, (_, n) =>
              strictStore.put("k", n, current?.revision ?? null, { owner: "o" }),
            ),
          );
          expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
        }
      } finally {
        await strict.end();
        await pool.query("ALTER DATABASE postgres RESET default_transaction_isolation");
      }
    });
  });

  test("fails in time when the server does not answer", async () => {
    await withTable("slow", async (_, pool) => {
      const holder = await pool.connect();
      await holder.query("BEGIN; LOCK TABLE slow IN ACCESS EXCLUSIVE MODE");
      const store = createPostgresStore({ pool, table: "slow", timeoutMs: 50 });
      await expect(store.get("k")).rejects.toMatchObject({
        code: "STORE_FAILED",
        cause: { name: "TimeoutError" },
      });
      await holder.query("ROLLBACK");
      holder.release();
    });
  });

  test.each([
    ["crowded", "CONNECTION LIMIT 0", "(53300): it has too many connections."],
    ["reading", "; ALTER ROLE reading SET default_transaction_read_only = on", "(25006): it only"],
    ["hasty", "; ALTER ROLE hasty SET statement_timeout = 50", "(57014): it cancelled"],
    ["barred", "", "(42501): the user lacks a right on the table."],
  ])("says why PostgreSQL refused a user: %s", async (user, setting, what) => {
    await withTable(user, async (_, admin) => {
      await admin.query(`CREATE ROLE ${user} LOGIN ${setting}`);
      if (user !== "barred") await admin.query(`GRANT ALL ON ${user} TO ${user}`);
      const holder = await admin.connect();
      const mode = user === "hasty" ? "ACCESS EXCLUSIVE" : "ACCESS SHARE";
      await holder.query(`BEGIN; LOCK TABLE ${user} IN ${mode} MODE`);
      const pool = new pg.Pool({
        host: "127.0.0.1",
        port: server.port,
        user,
        database: "postgres",
      });
      const store = createPostgresStore({ pool, table: user });
      const error = await store
        .put("k", 1, null, { owner: "o" })
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "STORE_FAILED" });
      expect(String(error)).toContain(what);
      expect(String(error)).toMatch(/Nothing was written\.$/);
      await pool.end();
      await holder.query("ROLLBACK");
      holder.release();
    });
  });

  test("says that a table is missing, and how to make it", async () => {
    const pool = createPool(server.port);
    const store = createPostgresStore({ pool, table: "nowhere" });
    await expect(store.get("k")).rejects.toThrow(
      "The PostgreSQL store failed at get (42P01): there is no such table. Call createTables, or run the SQL of the store's schema in a migration. Nothing was read or changed.",
    );
    await pool.end();
  });

  test("says neither address nor user when there is no server", async () => {
    const pool = new pg.Pool({ connectionString: "postgres://ann:hush@127.0.0.1:1/private" });
    const store = createPostgresStore({ pool });
    const error = await store.get("k").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "STORE_FAILED", cause: { code: "ECONNREFUSED" } });
    expect(String(error)).toContain("(ECONNREFUSED)");
    expect(String(error)).not.toMatch(/ann|hush|127|private/);
    await pool.end();
  });

  test("has no notices without LISTEN, and none through what is no pool of pg", async () => {
    const pool = createPool(server.port);
    const { query } = { query: (text: string, values?: unknown[]) => pool.query(text, values) };
    for (const store of [
      createPostgresStore({ pool, listen: false }),
      createPostgresStore({ pool: { query } }),
    ]) {
      expect("publish" in store || "subscribe" in store).toBe(false);
    }
    await pool.end();
  });

  test("listens on a connection of its own while there are subscribers, which no pool waits for", async () => {
    await withTable("listening", async (_, admin) => {
      const count = async () => {
        const { rows } = await admin.query(
          "SELECT count(*)::int AS count FROM pg_stat_activity WHERE query LIKE 'LISTEN %'",
        );
        return (rows[0] as { count: number }).count;
      };
      // Those of other tests end a moment after them.
      await expect.poll(count, { timeout: 5_000 }).toBe(0);
      const pool = new pg.Pool({
        ...{ host: "127.0.0.1", port: server.port, user: "postgres", database: "postgres", max: 1 },
      });
      const store = createPostgresStore({ pool, table: "listening" });
      let calls = 0;
      const ends = ["a", "b"].map((topic) => store.subscribe!(topic, () => void (calls += 1)));
      await expect.poll(() => calls).toBe(2);
      expect(await count()).toBe(1);
      await store.publish!("b");
      await expect.poll(() => calls).toBe(3);
      // The connection breaks, and comes back.
      await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'",
      );
      await expect.poll(() => calls).toBe(5);
      await pool.end();
      for (const end of ends) end();
      await expect.poll(count, { timeout: 5_000 }).toBe(0);
    });
  });

  test("prepares statements, and goes on behind a pooler that lets them get lost", async () => {
    await withTable("pooled", async (_, admin) => {
      const pool = createPool(server.port);
      const store = createPostgresStore({ pool, table: "pooled" });
      await store.put("k", 1, null, { owner: "o" });
      await store.get("k");
      const client = await pool.connect();
      const { rows } = await client.query("SELECT name FROM pg_prepared_statements");
      expect(rows).toHaveLength(2);
      // As a pooler does between two transactions.
      await client.query("DEALLOCATE ALL");
      client.release();
      expect(await store.get("k")).toMatchObject({ value: 1 });
      await admin.query("ALTER TABLE pooled ALTER COLUMN value TYPE varchar");
      expect(await store.get("k")).toMatchObject({ value: 1 });
      const writes = ["a", "b"].map((key) => ({
        ...({ type: "put", key, value: 1, ifRevision: null, owner: "o" } as const),
      }));
      expect((await store.batch!(writes)).ok).toBe(true);
      await pool.end();
    });
  });

  test("refuses names that PostgreSQL would cut", () => {
    for (const names of [{ table: "x".repeat(49) }, { schema: "x".repeat(49) }]) {
      expect(() => createPostgresStore({ pool: new pg.Pool(), ...names })).toThrow(
        expect.objectContaining({ code: "CONNECTION_INVALID" }),
      );
    }
  });

  test("deletes what has expired as new records come", async () => {
    await withTable("expiring", async (_, pool) => {
      let time = 0;
      const store = createPostgresStore({ pool, table: "expiring", now: () => time });
      for (let n = 0; n < 200; n += 1) {
        await store.put(`record ${n}`, 1, null, { owner: "o", expiresAt: time + 10 });
        time += 1;
      }
      const { rows } = await pool.query("SELECT key FROM expiring");
      // Ten that live, and what has come since the last purge.
      expect(rows.length).toBeLessThan(50);
    });
  });

  test("uses an index for each kind of listing and for what has expired", async () => {
    await withTable("plans", async (store, pool) => {
      // As many as it takes for the planner to prefer an index to reading everything.
      await pool.query(`INSERT INTO plans SELECT sha256(n::text::bytea), 'key ' || n, '1', '1',
        sha256((n % 5)::text::bytea), n % 5, n, 10000000000000 + n FROM generate_series(1, 5000) AS n`);
      await pool.query("ANALYZE plans");
      const none = {
        prefix: "",
        owner: undefined,
        idleSince: undefined,
        after: undefined,
        limit: 10,
      };
      const after = [5, "key 5"] as const;
      const plans = [
        [none, "plans_key"],
        [{ ...none, prefix: "key 1" }, "plans_key"],
        [{ ...none, prefix: "key 1", after: [0, "key 10"] }, "plans_key"],
        [{ ...none, owner: "3" }, "plans_owner"],
        [{ ...none, owner: "3", after, prefix: "key" }, "plans_owner"],
        [{ ...none, owner: "3", idleSince: 4_000 }, "plans_owner"],
        [{ ...none, idleSince: 50 }, "plans_last_used_at"],
        [{ ...none, idleSince: 50, after }, "plans_last_used_at"],
        [{ ...none, idleSince: 50, prefix: "key" }, "plans_last_used_at"],
        [{ ...none, idleSince: 50, prefix: "due/a" }, "plans_due"],
        [{ ...none, idleSince: 50, prefix: "due/a", after }, "plans_due"],
      ] as const;
      for (const [selection, index] of plans) {
        expect(await indexesOf(pool, postgresList('"plans"', selection, 1))).toEqual([index]);
      }
      const statements = postgresStatements('"plans"');
      expect(await indexesOf(pool, statements.get(["key 1"], 1))).toEqual(["plans_pkey"]);
      expect(await indexesOf(pool, statements.touch("key 1", 1_000_000, 1))).toEqual([
        "plans_pkey",
      ]);
      const write = { key: "k", text: "1", revision: "1", owner: "o", expiresAt: 1 };
      const update = statements.put({ ...write, ifRevision: "1" }, 1, true);
      expect(await indexesOf(pool, update)).toEqual(["plans_pkey"]);
      const insert = statements.put({ ...write, ifRevision: null }, 1, true);
      expect(await indexesOf(pool, insert)).toEqual(["plans_expires_at", "plans_pkey"]);
      expect((await store.list({ prefix: "key 1", limit: 10 })).records).toHaveLength(10);
    });
  });
});

/** The indexes that the plan of a statement goes through; a table that it reads whole counts as one. */
async function indexesOf(pool: pg.Pool, { text, values }: PostgresQuery): Promise<string[]> {
  const { rows } = await pool.query(`EXPLAIN (FORMAT JSON) ${text}`, [...values]);
  const plan = JSON.stringify(rows);
  const scans = [...plan.matchAll(/"Node Type":"(Seq Scan|Sort)"/g)].map(([, node]) => node!);
  const indexes = [...plan.matchAll(/"Index Name":"([^"]*)"/g)].map(([, name]) => name!);
  return [...new Set([...scans, ...indexes])].toSorted();
}
