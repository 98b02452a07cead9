import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, describe, test } from "vitest";
import openFolder from "./open-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the suite for stores", () => {
  testSessionStore({
    test,
    open: () => openFolder(folder),
    hasConnection: false,
    processes: {
      module: new URL("open-folder.ts", import.meta.url),
      data: () => folder,
      execArgv: ["--conditions=@durable-mcp/source"],
    },
    async plant(key, text) {
      const place = join(folder, "keys", createHash("sha256").update(key).digest("hex"));
      const file = join(folder, "values", readdirSync(place)[0]!);
      const content = JSON.parse(readFileSync(file, "utf8")) as object;
      writeFileSync(file, JSON.stringify({ ...content, text }));
    },
  });
});
