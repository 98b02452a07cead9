import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import openLibsql from "../test/open-libsql.ts";
import { createLibsqlStore } from "./libsql.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-libsql-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the suite for stores, with processes", () => {
  const path = join(folder, "suite.db");
  testSessionStore({
    test,
    open: () => openLibsql(path),
    processes: {
      module: new URL("../test/open-libsql.ts", import.meta.url),
      data: () => path,
      execArgv: ["--conditions=@durable-mcp/source"],
    },
    async plant(key, text) {
      const client = createClient({ url: `file:${path}` });
      const sql = "UPDATE mcp_sessions SET value = ? WHERE key = ?";
      await client.execute({ sql, args: [text, key] });
      client.close();
    },
  });
});

test("says that the tables are missing", async () => {
  const client = createClient({ url: `file:${join(folder, "empty.db")}` });
  await expect(createLibsqlStore({ client }).get("k")).rejects.toThrow(
    "The libSQL store failed at get (SQLITE_ERROR): it refused the statement. If the table is missing, call createTables. Nothing was read or changed.",
  );
  client.close();
});

describe.each(["WAL", "DELETE"])("a file that another client has locked, in mode %s", (mode) => {
  async function openLocked(timeoutMs?: number) {
    const url = `file:${join(folder, `${mode}-${timeoutMs}.db`)}`;
    const [client, other] = [createClient({ url }), createClient({ url })];
    await client.execute(`PRAGMA journal_mode = ${mode}`);
    const store = createLibsqlStore({ client, timeoutMs });
    await store.createTables();
    const lock = await other.transaction("write");
    await lock.execute("CREATE TABLE other (x)");
    onTestFinished(() => [client, other].forEach((each) => each.close()));
    return { store, other, lock };
  }

  test("is waited for, by several operations at once, and written", async () => {
    const { store, other, lock } = await openLocked();
    setTimeout(() => void lock.commit(), 150);
    const puts = ["a", "b", "c"].map((key) => store.put(key, { key }, null, { owner: "o" }));
    expect(await Promise.all(puts)).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
    expect(await store.get("b")).toMatchObject({ value: { key: "b" } });
    await other.batch(["INSERT INTO other VALUES (1)"], "write");
  });

  test("is said to be locked when it stays so, and is written afterwards", async () => {
    const { store, other, lock } = await openLocked(300);
    await expect(store.put("a", 1, null, { owner: "o" })).rejects.toThrow(
      "The libSQL store failed at put (FILE_LOCKED): another process, or a transaction of yours, kept the file locked. Look for a long transaction, or raise timeoutMs. Nothing was written.",
    );
    await lock.commit();
    expect(await store.put("a", 1, null, { owner: "o" })).toMatchObject({ ok: true });
    await other.batch(["INSERT INTO other VALUES (1)"], "write");
  });
});
