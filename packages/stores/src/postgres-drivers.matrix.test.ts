import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NeonProxy, startNeonProxy } from "../test/neon-proxy.ts";
import openWithTable, { openBy, type PostgresDriver } from "../test/open-postgres-by.ts";
import { createAtOnce, oddNames } from "../test/create-at-once.ts";
import { createPool } from "../test/open-postgres.ts";
import { postgresUnavailable, startPostgres } from "../test/postgres-server.ts";
import type { DatabaseServer } from "../test/start-server.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: postgres: ${postgresUnavailable}`);

const step = (key: string, ifRevision: string | null) =>
  ({ type: "put", key, value: 1, ifRevision, owner: "o" }) as const;

describe.skipIf(postgresUnavailable !== undefined)("on a real server", () => {
  let server: DatabaseServer;
  let proxy: NeonProxy;
  beforeAll(async () => {
    server = await startPostgres();
    proxy = await startNeonProxy(server.port);
    const pool = createPool(server.port);
    await pool.query(`CREATE SCHEMA "${oddNames.schema}"`);
    await pool.end();
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.remove();
  });

  describe.each(["postgres.js", "Neon over HTTP", "Neon's pool"] as const)("by %s", (driver) => {
    const isDirect = driver === "postgres.js";
    const given = (): PostgresDriver => ({ driver, port: (isDirect ? server : proxy).port });

    testSessionStore({
      test,
      open: () => openWithTable(given()),
      hasConnection: driver !== "Neon over HTTP",
      async plant(key, text) {
        const pool = createPool(server.port);
        await pool.query("UPDATE mcp_sessions SET value = $1 WHERE key = $2", [text, key]);
        await pool.end();
      },
      // Through a pool it is as by pg.
      processes:
        driver === "Neon's pool"
          ? false
          : {
              module: new URL("../test/open-postgres-by.ts", import.meta.url),
              data: () => ({ ...given() }),
              execArgv: ["--conditions=@durable-mcp/source"],
            },
      server: { kill: () => server.kill(), start: () => server.start() },
    });

    test.each([{ table: "at once" }, oddNames])(
      "creates its table any number of times, at once too: %j",
      async ({ table, ...schema }) => {
        const names = { ...schema, table: `${table} ${driver}` };
        const opened = Array.from({ length: 6 }, () => openBy(given(), names));
        expect(await createAtOnce(opened.map(({ store }) => store))).toHaveLength(6);
        await Promise.all(opened.map(async ({ close }) => close?.()));
      },
    );
  });

  test("sends one request over HTTP for each operation, and two for a conflict", async () => {
    const { store } = openBy({ driver: "Neon over HTTP", port: proxy.port }, { table: "counted" });
    const requests = async <T>(run: () => Promise<T>) => {
      proxy.take();
      return [await run(), proxy.take()] as const;
    };
    expect(await requests(() => store.createTables())).toEqual([undefined, 1]);
    const batch = await requests(() =>
      store.batch!([step("a", null), step("b", null), { type: "delete", key: "c" }]),
    );
    expect(batch).toEqual([expect.objectContaining({ ok: true }), 1]);
    expect((await requests(() => store.put("d", 1, null, { owner: "o" })))[1]).toBe(1);
    expect((await requests(() => store.get("d")))[1]).toBe(1);
    expect((await requests(() => store.getMany!(["a", "b", "d", "c"])))[1]).toBe(1);
    expect((await requests(() => store.list({ owner: "o", limit: 10 })))[1]).toBe(1);
    expect((await requests(() => store.touch("d", Date.now())))[1]).toBe(1);
    expect((await requests(() => store.delete("d")))[1]).toBe(1);
    const conflict = await requests(() => store.put("a", 2, null, { owner: "o" }));
    expect(conflict).toEqual([expect.objectContaining({ ok: false }), 2]);
    // It undoes itself, finds the step, and reads what is there.
    const refused = await requests(() => store.batch!([step("e", null), step("a", "another")]));
    expect(refused[0]).toMatchObject({ ok: false, index: 1 });
    expect(refused[1]).toBeLessThanOrEqual(4);
    expect(await store.get("e")).toBeUndefined();
  });

  test("ends its LISTEN by postgres.js when nobody subscribes any more", async () => {
    const { store, close } = openBy({ driver: "postgres.js", port: server.port });
    const admin = createPool(server.port);
    const last = async (statement: string) => {
      const { rows } = await admin.query(
        "SELECT count(*)::int AS count FROM pg_stat_activity WHERE lower(query) LIKE $1",
        [`${statement} "durable_mcp_%`],
      );
      return (rows[0] as { count: number }).count;
    };
    let calls = 0;
    const end = store.subscribe!("a", () => void (calls += 1));
    await expect.poll(() => calls).toBe(1);
    expect(await last("listen")).toBe(1);
    await store.publish!("a");
    await expect.poll(() => calls).toBe(2);
    end();
    await expect.poll(() => last("unlisten"), { timeout: 5_000 }).toBe(1);
    await close!();
    await admin.end();
  });
});
