import { createCluster } from "redis";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { redisUnavailable, startRedis } from "../test/redis-server.ts";
import { createRedisStore, type IoRedisClient, type RedisClient } from "./redis.ts";

const prefix = "moving";

const start = () => startRedis("--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1");

describe.skipIf(redisUnavailable !== undefined)("a cluster while a slot moves", () => {
  let servers: Awaited<ReturnType<typeof startRedis>>[];
  let nodes: Redis[];
  let slot: number;
  let owner: number;

  beforeAll(async () => {
    servers = await Promise.all([start(), start()]);
    nodes = servers.map(({ port }) => new Redis(port, "127.0.0.1"));
    // A node without slots would become a replica, and a client would not know it.
    await nodes[0]!.cluster("ADDSLOTSRANGE", 0, 8_191);
    await nodes[1]!.cluster("ADDSLOTSRANGE", 8_192, 16_383);
    await nodes[0]!.cluster("MEET", "127.0.0.1", servers[1]!.port);
    for (const node of nodes) {
      while (!(await node.cluster("INFO")).includes("cluster_state:ok")) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    slot = await nodes[0]!.cluster("KEYSLOT", `{${prefix}}`);
    owner = slot < 8_192 ? 0 : 1;
  });
  afterAll(async () => {
    for (const node of nodes) node.disconnect();
    await Promise.all(servers.map((server) => server.remove()));
  });

  /** Moves one of the store's keys from one node to the other: scripts that need both are refused. Returns the rest. */
  async function beginMove(): Promise<() => Promise<void>> {
    const [source, target] = [nodes[owner]!, nodes[1 - owner]!];
    const ids = await Promise.all([source, target].map((node) => node.cluster("MYID")));
    await target.cluster("SETSLOT", slot, "IMPORTING", ids[0]!);
    await source.cluster("SETSLOT", slot, "MIGRATING", ids[1]!);
    const { port } = servers[1 - owner]!;
    const move = async (key: string) =>
      void (await source.migrate("127.0.0.1", port, key, 0, 5_000));
    await move(`{${prefix}}:keys`);
    return async () => {
      for (const key of await source.cluster("GETKEYSINSLOT", slot, 100)) await move(key);
      for (const node of [target, source]) await node.cluster("SETSLOT", slot, "NODE", ids[1]!);
      owner = 1 - owner;
    };
  }

  const clients: [string, () => Promise<RedisClient | IoRedisClient>][] = [
    [
      "redis",
      async () => {
        const cluster = createCluster({
          rootNodes: [{ url: `redis://127.0.0.1:${servers[0]!.port}` }],
        });
        cluster.on("error", () => undefined);
        await cluster.connect();
        onTestFinished(() => cluster.destroy());
        return cluster;
      },
    ],
    [
      "ioredis",
      async () => {
        const cluster = new Cluster([{ host: "127.0.0.1", port: servers[0]!.port }]);
        onTestFinished(() => cluster.disconnect());
        return cluster;
      },
    ],
  ];

  test.each(clients)("is waited for, with %s", async (name, connect) => {
    const store = createRedisStore({ client: await connect(), prefix });
    await store.put(`${name}-a`, 1, null, { owner: "o" });
    const finish = await beginMove();
    const put = store.put(`${name}-b`, 2, null, { owner: "o" });
    const got = store.get(`${name}-a`);
    setTimeout(() => void finish(), 300);
    expect(await put).toMatchObject({ ok: true });
    expect(await got).toMatchObject({ value: 1 });
  });

  test("that does not end in time has refused: nothing may have been done", async () => {
    const [, connect] = clients[0]!;
    const store = createRedisStore({ client: await connect(), prefix, timeoutMs: 400 });
    await store.put("c", 1, null, { owner: "o" });
    const finish = await beginMove();
    await expect(store.put("d", 1, null, { owner: "o" })).rejects.toThrow(
      "The Redis store failed at put (TRYAGAIN): its cluster moves the keys. Try again in a moment. Nothing was written.",
    );
    await finish();
  });
});
