import { testSessionStore } from "@durable-mcp/testing/store";
import {
  createClient,
  createClientPool,
  createCluster,
  type RedisClientType,
  RESP_TYPES,
} from "redis";
import { createClient as createClientOfRedis5 } from "redis-5";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import openRedis from "../test/open-redis.ts";
import { redisUnavailable, startRedis } from "../test/redis-server.ts";
import type { DatabaseServer } from "../test/start-server.ts";
import { createRedisStore } from "./redis.ts";

const name = (part: string, key: string) => `{mcp-sessions}:${part}:${key}`;

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
      async plant(key, text) {
        const client = createClient({ url: `redis://127.0.0.1:${server.port}` });
        await client.connect();
        await client.set(name("value", key), text, { KEEPTTL: true });
        client.destroy();
      },
      processes: {
        module: new URL("../test/open-redis.ts", import.meta.url),
        data: () => server.port,
        execArgv: ["--conditions=@durable-mcp/source"],
      },
      server: { kill: () => server.kill(), start: () => server.start() },
    });
  });

  /** A client on an empty Redis. */
  async function withClient(run: (client: RedisClientType) => Promise<void>): Promise<void> {
    const client: RedisClientType = createClient({ url: `redis://127.0.0.1:${server.port}` });
    await client.connect();
    try {
      await client.flushAll();
      await run(client);
    } finally {
      client.destroy();
    }
  }

  test("leaves nothing behind when records are deleted or expire", async () => {
    await withClient(async (client) => {
      let time = Date.now();
      const store = createRedisStore({ client, now: () => time });
      for (let n = 0; n < 20; n += 1) {
        await store.put(`deleted ${n}`, 1, null, { owner: `owner ${n}` });
        await store.put(`expired ${n}`, 1, null, {
          owner: `owner ${n}`,
          expiresAt: time + 1_000_000,
        });
        await store.touch(`expired ${n}`, time + n);
        await store.put(`due/${n}`, 1, null, { owner: "o", expiresAt: time + 1_000_000 });
        await store.delete(`deleted ${n}`);
      }
      time += 2_000_000;
      const revisions: string[] = [];
      // There is a purge among each 32 new records.
      for (let n = 0; n < 32; n += 1) {
        const answer = await store.put(`new ${n}`, 1, null, { owner: "o" });
        if (answer.ok) revisions.push(answer.revision);
      }
      for (const [n, revision] of revisions.entries()) await store.delete(`new ${n}`, revision);
      expect(await client.keys("*")).toEqual([]);
    });
  });

  test("lets Redis forget a value when its time has come, without another call", async () => {
    await withClient(async (client) => {
      const store = createRedisStore({ client });
      const expiresAt = Date.now() + 3_600_000;
      await store.put("k", "secret", null, { owner: "o", expiresAt });
      expect(await client.pExpireTime("{mcp-sessions}:value:k")).toBe(expiresAt);
      // No other key holds the value.
      expect(await client.hGetAll("{mcp-sessions}:record:k")).not.toHaveProperty("value");
      // Redis may be ahead of this machine.
      await client.del("{mcp-sessions}:value:k");
      expect(await store.get("k")).toBeUndefined();
      expect((await store.list({ limit: 10 })).records).toEqual([]);
      expect((await store.put("k", 2, null, { owner: "p" })).ok).toBe(true);
      expect((await store.list({ owner: "o", limit: 10 })).records).toEqual([]);
      expect((await store.list({ owner: "p", limit: 10 })).records).toHaveLength(1);
      expect((await store.list({ idleSince: expiresAt, limit: 10 })).records).toHaveLength(1);
    });
  });

  test("goes on when Redis has forgotten the scripts", async () => {
    await withClient(async (client) => {
      const store = createRedisStore({ client });
      await store.put("k", 1, null, { owner: "o" });
      await client.scriptFlush();
      expect(await store.get("k")).toMatchObject({ value: 1 });
    });
  });

  test("takes what is no record of it for absent or unreadable, and replaces it", async () => {
    await withClient(async (client) => {
      let unreadable = 0;
      const onUnreadable = () => void (unreadable += 1);
      const store = createRedisStore({ client, onUnreadable });
      const put = async (key: string) => {
        const answer = await store.put(key, 1, null, { owner: "o" });
        return answer.ok && answer.revision;
      };
      const revision = await put("value");
      for (const key of ["good", "record", "hash"]) await put(key);
      await client.del([name("value", "value"), name("record", "record"), name("record", "hash")]);
      await client.lPush(name("value", "value"), "x");
      await client.lPush(name("record", "record"), "x");
      await client.hSet(name("record", "hash"), { revision: "r", owner: "o", lastUsedAt: "soon" });

      expect(await store.get("value")).toEqual({ value: null, revision });
      expect(await store.get("record")).toBeUndefined();
      expect(await store.get("hash")).toBeUndefined();
      expect(unreadable).toBe(1);
      const { records } = await store.list({ owner: "o", limit: 10 });
      expect(records.map(({ key, value }) => [key, value])).toEqual([
        ["good", 1],
        ["value", null],
      ]);
      expect((await store.put("value", 2, revision || "", { owner: "o" })).ok).toBe(true);
      for (const key of ["record", "hash"]) expect(await put(key)).toBeTruthy();
      expect((await store.list({ owner: "o", limit: 10 })).records).toHaveLength(4);
    });
  });

  test("keeps stores with different prefixes apart", async () => {
    await withClient(async (client) => {
      const one = createRedisStore({ client, prefix: "one" });
      const other = createRedisStore({ client, prefix: "other" });
      await one.put("k", 1, null, { owner: "o" });
      expect(await other.get("k")).toBeUndefined();
      expect((await other.list({ limit: 10 })).records).toEqual([]);
    });
  });

  test("keeps all keys of a store on one shard of a cluster", async () => {
    await withClient(async (client) => {
      const store = createRedisStore({ client });
      await store.put("k}{x", 1, null, { owner: "o", expiresAt: Date.now() + 1e6 });
      const slots = new Set<string>();
      for (const key of await client.keys("*")) slots.add(/^{([^}]+)}/.exec(key)?.[1] ?? key);
      expect([...slots]).toEqual(["mcp-sessions"]);
    });
  });

  test("takes pools, clients that map replies, the older protocol and the older package", async () => {
    const url = `redis://127.0.0.1:${server.port}`;
    const pool = createClientPool({ url });
    const mapped = createClient({
      url,
      RESP: 3,
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    });
    const older = createClient({ url, RESP: 2 });
    const redis5 = createClientOfRedis5({ url });
    await Promise.all([pool.connect(), mapped.connect(), older.connect(), redis5.connect()]);
    for (const client of [pool, mapped, older, redis5]) {
      const store = createRedisStore({ client, prefix: crypto.randomUUID() });
      const answer = await store.put("k", "é", null, { owner: "o", expiresAt: Date.now() + 1e6 });
      expect(await store.get("k")).toEqual({ value: "é", revision: answer.ok && answer.revision });
      expect((await store.list({ owner: "o", limit: 1 })).records).toHaveLength(1);
    }
    pool.destroy();
    mapped.destroy();
    older.destroy();
    redis5.destroy();
  });

  test("hears of notices beside a pool only through a client for that", async () => {
    const url = `redis://127.0.0.1:${server.port}`;
    const pool = createClientPool({ url });
    const subscriber = createClient({ url });
    subscriber.on("error", () => undefined);
    await Promise.all([pool.connect(), subscriber.connect()]);
    const alone = createRedisStore({ client: pool });
    expect("publish" in alone || "subscribe" in alone).toBe(false);
    const store = createRedisStore({ client: pool, subscriber });
    let calls = 0;
    const end = store.subscribe!("topic", () => void (calls += 1));
    await expect.poll(() => calls).toBe(1);
    await store.publish!("topic");
    await expect.poll(() => calls).toBe(2);
    // The connection breaks, and comes back.
    const id = await subscriber.clientId();
    await pool.sendCommand(["CLIENT", "KILL", "ID", String(id)]);
    await expect.poll(() => calls, { timeout: 10_000 }).toBe(3);
    end();
    pool.destroy();
    subscriber.destroy();
  });

  test("has a connection for subscribers while there are some", async () => {
    await withClient(async (client) => {
      const connections = async () => (await client.clientList()).length;
      const before = await connections();
      const store = createRedisStore({ client });
      await store.publish!("topic");
      expect(await connections()).toBe(before);
      const ends = ["a", "b", "a"].map((topic) => store.subscribe!(topic, () => undefined));
      await expect.poll(connections).toBe(before + 1);
      for (const end of ends) end();
      await expect.poll(connections, { timeout: 5_000 }).toBe(before);
    });
  });

  test("finds what matches among many that do not", async () => {
    await withClient(async (client) => {
      const store = createRedisStore({ client });
      const start = Date.now();
      for (let from = 0; from < 4_500; from += 100) {
        await Promise.all(
          Array.from({ length: 100 }, (_, n) => {
            const key = `${(from + n) % 1_500 === 0 ? "rare" : "common"} ${from + n}`;
            return store.put(key, n, null, { owner: "o" });
          }),
        );
      }
      const query = { prefix: "rare", idleSince: start + 3_600_000 };
      const first = await store.list({ ...query, limit: 2 });
      const rest = await store.list({ ...query, limit: 2, cursor: first.cursor });
      const keys = [...first.records, ...rest.records].map(({ key }) => key);
      expect(keys.toSorted()).toEqual(["rare 0", "rare 1500", "rare 3000"]);
      expect(rest.cursor).toBeUndefined();
    });
  });

  test("finds what an earlier release has written among what is due, and nothing that it has deleted", async () => {
    await withClient(async (client) => {
      const now = Date.now();
      const store = createRedisStore({ client, now: () => now });
      const due = async () => {
        const query = { prefix: "due/", idleSince: now + 100, limit: 10 };
        return (await store.list(query)).records.map(({ key }) => key);
      };
      for (const n of [1, 2, 3]) await store.put(`due/${n}`, n, null, { owner: "o", at: now + n });
      // That release knows all of the keys but this one.
      const all = await client.zRange("{mcp-sessions}:due", 0, -1);
      await client.del("{mcp-sessions}:due");
      await store.put("due/4", 4, null, { owner: "o", at: now + 4 });
      expect((await due()).toSorted()).toEqual(["due/1", "due/2", "due/3", "due/4"]);
      await store.delete("due/1");
      await client.zAdd("{mcp-sessions}:due", { score: 0, value: all[0]! });
      expect((await due()).toSorted()).toEqual(["due/2", "due/3", "due/4"]);
      for (const n of [2, 3, 4]) await store.delete(`due/${n}`);
      expect(await client.keys("*")).toEqual([]);
    });
  });

  test("saves nothing when Redis has no memory left", async () => {
    await withClient(async (client) => {
      const store = createRedisStore({ client });
      const first = await store.put("k", 1, null, { owner: "o" });
      const revision = first.ok ? first.revision : "";
      await client.configSet("maxmemory", "1");
      await expect(store.put("k", 2, revision, { owner: "p" })).rejects.toMatchObject({
        code: "STORE_FAILED",
        message: expect.stringMatching(/\(OOM\): it has no memory left\..*Nothing was written\.$/),
      });
      await client.configSet("maxmemory", "0");
      expect(await store.get("k")).toEqual({ value: 1, revision });
      expect((await store.list({ owner: "o", limit: 1 })).records).toHaveLength(1);
    });
  });

  test("says why Redis refused, and that nothing was written", async () => {
    await withClient(async (client) => {
      const store = createRedisStore({ client });
      await store.put("k", 1, null, { owner: "o" });
      const refusedPut = () => store.put("l", 1, null, { owner: "o" });
      await client.sendCommand(["REPLICAOF", "127.0.0.1", "1"]);
      await expect(refusedPut()).rejects.toThrow(
        /\(READONLY\): it only takes reads\..*Nothing was written\.$/,
      );
      await client.configSet("replica-serve-stale-data", "no");
      await expect(store.get("k")).rejects.toThrow(/\(MASTERDOWN\): its master is down\./);
      await client.configSet("replica-serve-stale-data", "yes");
      await client.sendCommand(["REPLICAOF", "NO", "ONE"]);
      await client.sendCommand(["ACL", "SETUSER", "default", "resetkeys"]);
      await expect(refusedPut()).rejects.toThrow(/\(NOPERM\): the user lacks a right\./);
      await client.sendCommand(["ACL", "SETUSER", "default", "allkeys"]);
    });
    const offline = createClient({ url: "redis://127.0.0.1:1", disableOfflineQueue: true });
    offline.on("error", () => undefined);
    const store = createRedisStore({ client: offline });
    await expect(store.put("k", 1, null, { owner: "o" })).rejects.toThrow(
      /\(CLIENT_OFFLINE\): its client is not connected\..*Nothing was written\.$/,
    );
  });

  test("does not send later what it said had failed", async () => {
    const client = createClient({ url: `redis://127.0.0.1:${server.port}` });
    client.on("error", () => undefined);
    await client.connect();
    const store = createRedisStore({ client, timeoutMs: 300 });
    await server.kill();
    await expect(store.put("late", 1, null, { owner: "o" })).rejects.toMatchObject({
      code: "STORE_FAILED",
    });
    await server.start();
    await expect
      .poll(() => store.get("late").catch(() => "down"), { timeout: 20_000 })
      .toBe(undefined);
    client.destroy();
  });
});

describe.skipIf(redisUnavailable !== undefined)("in a cluster", () => {
  test("finds all keys of a store on one shard", async () => {
    const server = await startRedis("--cluster-enabled", "yes");
    const url = `redis://127.0.0.1:${server.port}`;
    const node = createClient({ url });
    const cluster = createCluster({ rootNodes: [{ url }] });
    try {
      await node.connect();
      await node.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
      await expect
        .poll(() => node.sendCommand(["CLUSTER", "INFO"]), { timeout: 20_000 })
        .toContain("cluster_state:ok");
      await cluster.connect();
      const store = createRedisStore({ client: cluster });
      // Braces in a key do not take it elsewhere.
      for (const key of ["k", "}{x}", "{y}"]) {
        expect((await store.put(key, 1, null, { owner: "o", expiresAt: 1e15 })).ok).toBe(true);
        expect(await store.get(key)).toMatchObject({ value: 1 });
      }
      expect((await store.list({ owner: "o", limit: 10 })).records).toHaveLength(3);
    } finally {
      cluster.destroy();
      node.destroy();
      await server.remove();
    }
  });
});

test("says neither address nor password when there is no server", async () => {
  const client = createClient({ url: "redis://ann:hush@127.0.0.1:1", disableOfflineQueue: true });
  client.on("error", () => undefined);
  const store = createRedisStore({ client });
  const error = await store.get("k").catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "STORE_FAILED", cause: expect.any(Error) });
  expect(String(error)).not.toMatch(/ann|hush|127/);
});
