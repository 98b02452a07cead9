import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createPool } from "../test/open-postgres.ts";
import { pgBouncerUnavailable, startPgBouncer } from "../test/pgbouncer.ts";
import { postgresUnavailable, startPostgres } from "../test/postgres-server.ts";
import { postgresUser } from "../test/postgres-user.ts";
import { createPostgresStore, type PostgresStoreOptions } from "./postgres.ts";

const unavailable = postgresUnavailable ?? pgBouncerUnavailable;

describe.skipIf(unavailable !== undefined)("behind PgBouncer", () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => (server = await startPostgres()));
  afterAll(async () => await server.remove());

  async function open(
    mode: "transaction" | "session",
    options: Partial<PostgresStoreOptions> = {},
  ) {
    const pooler = await startPgBouncer(server.port, mode);
    const pool = createPool(pooler.port);
    const onDeaf = vi.fn<() => void>();
    const store = createPostgresStore({ pool, onDeaf, ...options } as PostgresStoreOptions);
    await store.createTables();
    onTestFinished(async () => {
      await pool.end();
      await pooler.remove();
    });
    return { store, onDeaf, pooler };
  }

  test("in transaction mode the store finds out that no notice arrives, and looks by itself", async () => {
    const { store, onDeaf } = await open("transaction");
    let calls = 0;
    const end = store.subscribe!("topic", () => void (calls += 1));
    await expect.poll(() => onDeaf.mock.calls.length).toBe(1);
    const before = calls;
    await store.publish!("topic");
    await expect.poll(() => calls).toBeGreaterThan(before);
    end();
    expect(await store.put("k", 1, null, { owner: "o" })).toMatchObject({ ok: true });
  });

  test("in session mode notices arrive", async () => {
    const { store, onDeaf } = await open("session");
    let calls = 0;
    const end = store.subscribe!("topic", () => void (calls += 1));
    await expect.poll(() => calls).toBe(1);
    await store.publish!("topic");
    await expect.poll(() => calls).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect([calls, onDeaf.mock.calls.length]).toEqual([2, 0]);
    end();
  });

  test("says on the console that it hears nothing, once, if nobody asked", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const { store } = await open("transaction", { onDeaf: undefined });
    const end = store.subscribe!("topic", () => undefined);
    await expect.poll(() => warn.mock.calls.length).toBe(1);
    expect(warn.mock.calls[0]?.[0]).toContain("takes LISTEN, and no notice arrives");
    end();
  });

  const refusal =
    /^The PostgreSQL store failed at put \(POOLER_REFUSED\): the pooler let nothing through\. .* Nothing was written\.$/;

  test("what the pooler refuses was not done: a startup parameter", async () => {
    const { pooler } = await open("transaction");
    const where = {
      host: "127.0.0.1",
      port: pooler.port,
      user: postgresUser,
      database: "postgres",
    };
    const pool = new pg.Pool({ ...where, statement_timeout: 1_000 });
    onTestFinished(() => pool.end());
    const store = createPostgresStore({ pool });
    await expect(store.put("k", 1, null, { owner: "o" })).rejects.toThrow(refusal);
  });

  test("what the pooler refuses was not done: the server is down", async () => {
    const { store } = await open("transaction");
    await server.kill();
    // The first put may find a connection that breaks: nobody knows of that one.
    await store.put("first", 1, null, { owner: "o" }).catch(() => undefined);
    const error = await store
      .put("k", 1, null, { owner: "o" })
      .catch((failure: unknown) => failure);
    await server.start();
    expect((error as Error).message).toMatch(refusal);
  });
});
