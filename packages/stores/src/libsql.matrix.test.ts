import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, describe, expect, test } from "vitest";
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
