import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { postgresTables } from "./postgres.ts";
import { sqliteTables } from "./sqlite.ts";

const page = readFileSync(
  new URL("../../../docs/reference/state-format.md", import.meta.url),
  "utf8",
);

test("has the schema that the docs show", () => {
  for (const sql of [sqliteTables(), postgresTables()]) {
    expect(page).toContain(`\`\`\`sql\n${sql}\`\`\`\n`);
  }
});
