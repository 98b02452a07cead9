import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDurableSessions } from "@durable-mcp/ai-sdk";
import { encryptStore } from "@durable-mcp/core/sealing";
import type { OpenedStore } from "@durable-mcp/testing/store";
import { afterAll, expect, test } from "vitest";
import { startDynamoDb } from "../../../stores/test/dynamodb-server.ts";
import { startNeonProxy } from "../../../stores/test/neon-proxy.ts";
import openDynamoDb from "../../../stores/test/open-dynamodb.ts";
import openIoRedis from "../../../stores/test/open-ioredis.ts";
import openLibsql from "../../../stores/test/open-libsql.ts";
import openWithTable from "../../../stores/test/open-postgres-by.ts";
import openPostgres from "../../../stores/test/open-postgres.ts";
import openRedis from "../../../stores/test/open-redis.ts";
import openSqlite from "../../../stores/test/open-sqlite.ts";
import openUpstash from "../../../stores/test/open-upstash.ts";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";
import { startUpstash } from "../../../stores/test/upstash-server.ts";
import { connectionsTo, serveChat } from "../deploy/order-chat.ts";
import { ordered, orderInThreeRequests } from "../deploy/order-in-three-requests.ts";
import { startAskingServer } from "../servers/asking.ts";

const cleanings: (() => unknown)[] = [];
afterAll(async () => {
  for (const clean of cleanings.toReversed()) await clean();
});

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-each-store-"));
cleanings.push(() => rmSync(folder, { recursive: true, force: true }));

/** Starts what stores need at its first use. */
function once<T extends { readonly remove: () => unknown }>(start: () => Promise<T>) {
  let started: Promise<T> | undefined;
  return () =>
    (started ??= start().then((server) => {
      cleanings.push(() => server.remove());
      return server;
    }));
}

const postgres = once(() => startPostgres());
const redis = once(() => startRedis());
const upstash = once(() => startUpstash());
const neon = once(async () => {
  const proxy = await startNeonProxy((await postgres()).port);
  return { ...proxy, remove: () => proxy.close() };
});
const dynamoDb = once(async () => {
  const server = await startDynamoDb();
  await openDynamoDb(server.port).store.createTable();
  return server;
});

const stores: Readonly<Record<string, () => Promise<OpenedStore> | OpenedStore>> = {
  SQLite: () => openSqlite(join(folder, "sqlite.db")),
  libSQL: () => openLibsql(join(folder, "libsql.db")),
  DynamoDB: async () => openDynamoDb((await dynamoDb()).port),
  ...(postgresUnavailable === undefined && {
    pg: async () => openPostgres((await postgres()).port),
    "postgres.js": async () =>
      openWithTable({ driver: "postgres.js", port: (await postgres()).port }),
    "Neon over HTTP": async () =>
      openWithTable({ driver: "Neon over HTTP", port: (await neon()).port }),
    "Neon's pool": async () => openWithTable({ driver: "Neon's pool", port: (await neon()).port }),
  }),
  ...(redisUnavailable === undefined && {
    redis: async () => openRedis((await redis()).port),
    ioredis: async () => openIoRedis((await redis()).port),
    Upstash: async () => openUpstash((await upstash()).port),
  }),
};

test.each(Object.keys(stores))("a question is answered by another client of %s", async (name) => {
  const shop = await startAskingServer();
  const key = crypto.getRandomValues(new Uint8Array(32));
  try {
    const orders = await orderInThreeRequests(shop, async (request) => {
      const { store, close } = await stores[name]!();
      const sessions = createDurableSessions({
        connections: connectionsTo(shop.url),
        // As in production. The drivers of one database have a store of their own each.
        store: encryptStore(store, { keys: { current: key }, fingerprintKey: key }),
        agent: name,
      });
      const served = await serveChat(sessions, request);
      await close?.();
      return served;
    });
    expect(orders).toMatchObject(ordered);
  } finally {
    await shop.stop();
  }
});
