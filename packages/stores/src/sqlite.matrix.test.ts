import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, describe, expect, test } from "vitest";
import openSqlite from "../test/open-sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the suite for stores, with processes", () => {
  const path = join(folder, "suite.db");
  testSessionStore({
    test,
    open: () => openSqlite(path),
    // In `sqlite.test.ts`.
    plant: false,
    processes: {
      module: new URL("../test/open-sqlite.ts", import.meta.url),
      data: () => path,
      execArgv: ["--conditions=@durable-mcp/source", "--disable-warning=ExperimentalWarning"],
    },
  });
});

test("the suite notices processes that overwrite each other's updates", async () => {
  const path = join(folder, "without-compare.db");
  const tests = new Map<string, () => Promise<void>>();
  testSessionStore({
    test: (title, run) => tests.set(title, run),
    open: () => openSqlite(path),
    processes: {
      module: new URL("../test/open-sqlite-without-compare.ts", import.meta.url),
      data: () => path,
      execArgv: ["--conditions=@durable-mcp/source", "--disable-warning=ExperimentalWarning"],
    },
  });
  const run = tests.get("loses no update of six processes that count up at once");
  await expect(run?.()).rejects.toThrow("Expected values to be strictly equal");
});
