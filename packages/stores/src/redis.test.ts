import { testSessionStore } from "@durable-mcp/core/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import openRedis from "../test/open-redis.ts";
import { redisUnavailable, startRedis } from "../test/redis-server.ts";
import type { DatabaseServer } from "../test/start-server.ts";

if (redisUnavailable !== undefined) console.warn(`skipped: redis: ${redisUnavailable}`);

describe.skipIf(redisUnavailable !== undefined)("on a real server", () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.remove());

  describe("the suite for stores", () => {
    testSessionStore({
      test,
      open: () => openRedis(server.port),
      processes: {
        module: new URL("../test/open-redis.ts", import.meta.url),
        data: () => server.port,
        execArgv: ["--conditions=@durable-mcp/source"],
      },
      server: { kill: () => server.kill(), start: () => server.start() },
    });
  });
});
