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

  test("hears of notices by a client for that, which two stores share", async () => {
    const client = connect();
    const subscriber = connect();
    await expect.poll(() => subscriber.status).toBe("ready");
    const calls = [0, 0];
    const [first, second] = [0, 1].map((n) => {
      const store = createRedisStore({ client, subscriber });
      const end = store.subscribe!("topic", () => void (calls[n]! += 1));
      return { store, end };
    });
    await expect.poll(() => calls.every((count) => count === 1)).toBe(true);
    first!.end();
    await second!.store.publish!("topic");
    await expect.poll(() => calls).toEqual([1, 2]);
    // The connection breaks, and comes back.
    await client.call("CLIENT", "KILL", "TYPE", "pubsub");
    await expect.poll(() => calls, { timeout: 10_000 }).toEqual([1, 3]);
    second!.end();
    client.disconnect();
    subscriber.disconnect();
  });

  test("has a connection for subscribers while there are some", async () => {
    const client = connect();
    const connections = async () =>
      String(await client.client("LIST"))
        .trim()
        .split("\n").length;
    const before = await connections();
    const store = createRedisStore({ client });
    const ends = ["a", "b", "a"].map((topic) => store.subscribe!(topic, () => undefined));
    await expect.poll(connections).toBe(before + 1);
    for (const end of ends) end();
    await expect.poll(connections, { timeout: 5_000 }).toBe(before);
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
