import { expect, test } from "vitest";
import {
  postgresUnavailable,
  postgresUser,
  startPostgres,
} from "../../../stores/test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

for (const reason of [postgresUnavailable, redisUnavailable]) {
  if (reason !== undefined) console.warn(`skipped: ${reason}`);
}

const demo = new URL("demo.ts", import.meta.url);

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
