import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testSessionStore } from "@durable-mcp/core/testing";
import { afterAll, describe, test } from "vitest";
import openSqlite from "../test/open-sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the suite for stores", () => {
  const path = join(folder, "suite.db");
  testSessionStore({
    test,
    open: () => openSqlite(path),
    processes: {
      module: new URL("../test/open-sqlite.ts", import.meta.url),
      data: () => path,
      execArgv: ["--conditions=@durable-mcp/source", "--disable-warning=ExperimentalWarning"],
    },
  });
});
