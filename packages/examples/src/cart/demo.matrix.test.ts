import { expect, test } from "vitest";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../stores/test/postgres-user.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

for (const reason of [postgresUnavailable, redisUnavailable]) {
  if (reason !== undefined) console.warn(`skipped: ${reason}`);
}

const demo = new URL("demo.ts", import.meta.url);

test("shows people a table of less than 100 columns, without session ids", async () => {
  const stdout = await runDemo(demo);
  expect(stdout).toMatch(/^ +2 +\d+ {2}add_item\(milk\) +1 \(kept\) +1 for 1 call$/m);
  expect(stdout).toMatch(/^ +4 +\d+ {2}list_items\(\) +2 \(new\) +6 for 1 call$/m);
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(100);
});

test.skipIf(redisUnavailable)("keeps the session in Redis as well", async () => {
  const server = await startRedis();
  try {
    const store = `redis://127.0.0.1:${server.port}`;
    const lines = jsonLines(await runDemo(demo, ["--json", "--store", store]));
    expect(lines).toHaveLength(5);
  } finally {
    await server.remove();
  }
});

test.skipIf(postgresUnavailable)("keeps the session in PostgreSQL as well", async () => {
  const server = await startPostgres();
  try {
    const store = `postgres://${postgresUser}@127.0.0.1:${server.port}/postgres`;
    const lines = jsonLines(await runDemo(demo, ["--json", "--store", store]));
    expect(lines).toHaveLength(5);
  } finally {
    await server.remove();
  }
});
