import { expect, test } from "vitest";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../stores/test/postgres-user.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);

test("shows people a table of less than 100 columns, without session ids", async () => {
  const stdout = await runDemo(demo);
  expect(stdout).toMatch(/^ +2 +\d+ {2}add_item\(milk\) +1 \(kept\) +1 for 1 call$/m);
  expect(stdout).toMatch(/^ +4 +\d+ {2}list_items\(\) +2 \(new\) +6 for 1 call$/m);
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(100);
});

const databases = [
  {
    ...{ name: "Redis", reason: redisUnavailable, start: startRedis },
    urlOf: (port: number) => `redis://127.0.0.1:${port}`,
  },
  {
    ...{ name: "PostgreSQL", reason: postgresUnavailable, start: startPostgres },
    urlOf: (port: number) => `postgres://${postgresUser}@127.0.0.1:${port}/postgres`,
  },
];

// In CI one of them; the suite for stores has both.
test.for(process.env["TEST_MATRIX"] === "1" ? databases : databases.slice(0, 1))(
  "keeps the session in $name as well",
  async ({ reason, start, urlOf }, context) => {
    context.skip(reason !== undefined, reason);
    const server = await start();
    try {
      const args = ["--json", "--store", urlOf(server.port)];
      expect(jsonLines(await runDemo(demo, args))).toHaveLength(5);
    } finally {
      await server.remove();
    }
  },
);
