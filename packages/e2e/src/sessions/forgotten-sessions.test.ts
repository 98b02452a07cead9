import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { forgottenAnswers } from "../../../core/test/forgotten-answers.ts";
import { pairs } from "../matrix/pairs.ts";
import { type ClientName, clients, expectOneBrokenStep, uses } from "./forgotten-sessions.ts";

const names = Object.keys(clients) as ClientName[];

describe.each(uses)(
  "a %s on a forgotten session breaks one step at most, and doubles nothing",
  (use) => {
    // Each answer with one client in turn; in the matrix with all.
    test.each(pairs(forgottenAnswers, names).map(([row, client]) => ({ row, client })))(
      "$row.name, with $client (S59)",
      async ({ row, client }) => await expectOneBrokenStep(row, use, client),
    );
  },
);

test("the report says how many rows there are", () => {
  const page = new URL("../../../../docs/reports/reliability.md", import.meta.url);
  const rows = forgottenAnswers.length * uses.length * names.length;
  expect(readFileSync(page, "utf8")).toContain(`${rows} rows`);
});
