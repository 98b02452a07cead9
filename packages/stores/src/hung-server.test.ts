import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { SessionStore } from "@durable-mcp/core";
import { Redis } from "ioredis";
import pg from "pg";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPostgresStore } from "./postgres.ts";
import openDynamoDb from "../test/open-dynamodb.ts";
import { createRedisStore } from "./redis.ts";
import { createUpstashStore } from "./upstash.ts";

const timeoutMs = 100;

/** Each takes a connection and never says a word. */
let server: Server;
let port: number;
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

const calls: ((store: SessionStore) => Promise<unknown>)[] = [
  (store) => store.get("k"),
  (store) => store.put("k", 1, null, { owner: "o" }),
  (store) => store.put("k", 1, "a revision", { owner: "o" }),
  (store) => store.touch("k", 1),
  (store) => store.delete("k"),
  (store) => store.delete("k", "a revision"),
  (store) => store.list({ limit: 1 }),
];

async function expectAllInTime(attempts: readonly Promise<unknown>[], start: number) {
  for (const outcome of await Promise.allSettled(attempts)) {
    expect(outcome).toMatchObject({
      status: "rejected",
      reason: { code: "STORE_FAILED", message: expect.stringContaining("(TIMEOUT)") },
    });
  }
  // Not one after the other.
  expect(performance.now() - start).toBeLessThan(5 * timeoutMs);
}

describe("a server that takes connections and does not answer", () => {
  test("fails every call of the PostgreSQL store in time", async () => {
    const pool = new pg.Pool({ host: "127.0.0.1", port, max: 1 });
    pool.on("error", () => undefined);
    const store = createPostgresStore({ pool, timeoutMs });
    const start = performance.now();
    await expectAllInTime([...calls.map((call) => call(store)), store.createTables()], start);
  });

  test("fails every call of the Redis store in time", async () => {
    const client = createClient({ socket: { host: "127.0.0.1", port, reconnectStrategy: false } });
    client.on("error", () => undefined);
    client.connect().catch(() => undefined);
    const store = createRedisStore({ client, timeoutMs });
    const start = performance.now();
    await expectAllInTime(
      calls.map((call) => call(store)),
      start,
    );
    client.destroy();
  });

  test("fails every call of the Redis store by a client of ioredis in time", async () => {
    const client = new Redis(port, "127.0.0.1", { connectTimeout: 60_000 });
    client.on("error", () => undefined);
    const store = createRedisStore({ client, timeoutMs });
    const start = performance.now();
    await expectAllInTime(
      calls.map((call) => call(store)),
      start,
    );
    client.disconnect();
  });

  test("fails every call of the Upstash store in time", async () => {
    const store = createUpstashStore({ url: `http://127.0.0.1:${port}`, token: "t", timeoutMs });
    const start = performance.now();
    await expectAllInTime(
      calls.map((call) => call(store)),
      start,
    );
  });

  test("fails every call of the DynamoDB store in time", async () => {
    const { store, client } = openDynamoDb(port, { timeoutMs });
    const start = performance.now();
    await expectAllInTime(
      calls.map((call) => call(store)),
      start,
    );
    client.destroy();
  });
});

test("many slow pages of a Redis list are one operation", async () => {
  // Each look at the index takes a while, and finds nothing but a place to go on from.
  const client = {
    eval: () => Promise.reject(new Error("not used")),
    evalSha: async () => {
      await new Promise((resolve) => {
        setTimeout(resolve, timeoutMs / 2);
      });
      return ["=there is more"];
    },
  };
  const store = createRedisStore({ client, timeoutMs });
  const start = performance.now();
  await expectAllInTime([store.list({ limit: 1 })], start);
});
