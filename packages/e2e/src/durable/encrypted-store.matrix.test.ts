import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, describe, test } from "vitest";
import { builtModule } from "../processes/programs.ts";
import openEncryptedSqlite from "./open-encrypted-sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-encrypted-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// In CI the suites of SQLite, and of an encrypted store in one process, have to do.
const isInCi = process.env["CI"] === "true";

describe.skipIf(isInCi)("the suite for stores, on an encrypted SQLite file", () => {
  const place = { path: join(folder, "suite.db"), key: randomBytes(32).toString("base64") };
  testSessionStore({
    test,
    open: () => openEncryptedSqlite(place),
    processes: {
      module: builtModule(new URL("./open-encrypted-sqlite.ts", import.meta.url)),
      data: () => place,
      execArgv: ["--conditions=@durable-mcp/source", "--disable-warning=ExperimentalWarning"],
    },
  });
});
