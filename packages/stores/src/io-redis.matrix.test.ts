import { testSessionStore } from "@durable-mcp/testing/store";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import openIoRedis from "../test/open-ioredis.ts";
import { redisUnavailable, startRedis } from "../test/redis-server.ts";
import type { DatabaseServer } from "../test/start-server.ts";
import { createRedisStore } from "./redis.ts";

if (redisUnavailable !== undefined) console.warn(`skipped: ioredis: ${redisUnavailable}`);

describe.skipIf(redisUnavailable !== undefined)("by a client of ioredis", () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.remove());

  const connect = (options = {}) => {
    const client = new Redis(server.port, "127.0.0.1", options);
    client.on("error", () => undefined);
    return client;
  };

  describe("the suite for stores", () => {
    testSessionStore({
      test,
      open: () => openIoRedis(server.port),
      async plant(key, text) {
        const client = connect();
        await client.set(`{mcp-sessions}:value:${key}`, text, "KEEPTTL");
        client.disconnect();
      },
      processes: {
        module: new URL("../test/open-ioredis.ts", import.meta.url),
        data: () => server.port,
        execArgv: ["--conditions=@durable-mcp/source"],
      },
      server: { kill: () => server.kill(), start: () => server.start() },
    });
  });

  test("connects a client that waits for its first command", async () => {
    const client = connect({ lazyConnect: true });
    const store = createRedisStore({ client });
    expect((await store.put("lazy", 1, null, { owner: "o" })).ok).toBe(true);
    client.disconnect();
  });

  test("goes on when Redis has forgotten the scripts", async () => {
    const client = connect();
    const store = createRedisStore({ client });
    await store.put("forgotten", 1, null, { owner: "o" });
    await client.script("FLUSH");
    expect(await store.get("forgotten")).toMatchObject({ value: 1 });
    client.disconnect();
  });

  test("does not send later what it said had failed", async () => {
    const client = connect();
    const store = createRedisStore({ client, timeoutMs: 300 });
    await store.get("late");
    await server.kill();
    await expect.poll(() => client.status, { timeout: 5_000 }).toBe("reconnecting");
    await expect(store.put("late", 1, null, { owner: "o" })).rejects.toMatchObject({
      code: "STORE_FAILED",
    });
    await server.start();
    await expect
      .poll(() => store.get("late").catch(() => "down"), { timeout: 20_000 })
      .toBe(undefined);
    client.disconnect();
  });

  test("repeats no value in an error of Redis", async () => {
    const client = connect();
    const store = createRedisStore({ client });
    await client.config("SET", "maxmemory", "1");
    const error = await store.put("k", "secret", null, { owner: "o" }).catch((reason) => reason);
    await client.config("SET", "maxmemory", "0");
    expect(error.message).toMatch(/\(OOM\): it has no memory left\..*Nothing was written\.$/);
    expect(JSON.stringify(error.cause)).not.toContain("secret");
    client.disconnect();
  });

  test("has no notices, and no subscriber", () => {
    const client = connect();
    const store = createRedisStore({ client });
    expect("publish" in store || "subscribe" in store).toBe(false);
    expect(() => createRedisStore({ client, subscriber: client as never })).toThrow("subscriber");
    client.disconnect();
  });
});

describe.skipIf(redisUnavailable !== undefined)("by a Cluster of ioredis", () => {
  test("finds all keys of a store on one shard, and has no notices", async () => {
    const server = await startRedis(
      ...["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"],
    );
    const node = new Redis(server.port, "127.0.0.1");
    const cluster = new Cluster([{ host: "127.0.0.1", port: server.port }], { lazyConnect: true });
    try {
      await node.cluster("ADDSLOTSRANGE", 0, 16_383);
      await expect.poll(() => node.cluster("INFO")).toContain("cluster_state:ok");
      const store = createRedisStore({ client: cluster });
      for (const key of ["k", "}{x}", "{y}"]) {
        expect((await store.put(key, 1, null, { owner: "o", expiresAt: 1e15 })).ok).toBe(true);
        expect(await store.get(key)).toMatchObject({ value: 1 });
      }
      expect((await store.list({ owner: "o", limit: 10 })).records).toHaveLength(3);
      expect("publish" in store || "subscribe" in store).toBe(false);
    } finally {
      cluster.disconnect();
      node.disconnect();
      await server.remove();
    }
  });
});
