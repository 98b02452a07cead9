import { expect, test } from "vitest";
import { postgresUnavailable } from "../../../stores/test/postgres-server.ts";
import { runDemo } from "../../test/run-demo.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: ${postgresUnavailable}`);

test.skipIf(postgresUnavailable)(
  "shows people lines of less than 100 columns, without session ids",
  async () => {
    const stdout = await runDemo(new URL("demo.ts", import.meta.url));
    expect(stdout).toMatch(/^ +\d+ {2}add_item\(bread\) +OUTCOME_UNKNOWN: /m);
    expect(stdout).toMatch(/^4 processes, 1 initialize\./m);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(100);
  },
);
