import { DatabaseSync } from "node:sqlite";
import { createMemoryStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { describe, expect, test } from "vitest";
import { createD1Store } from "./d1.ts";
import { createDurableObjectStore } from "./durable-object.ts";
import { createLibsqlStore } from "./libsql.ts";
import { createDynamoDbStore } from "./dynamodb.ts";
import { createPostgresStore } from "./postgres.ts";
import { createRedisStore } from "./redis.ts";
import { createSqliteStore } from "./sqlite.ts";
import { createUpstashStore } from "./upstash.ts";

const path = ":memory:";
const pool = { query: () => Promise.reject(new Error("not used")) };
const client = { eval: pool.query, evalSha: pool.query };
const unused = () => {
  throw new Error("not used");
};
const d1 = { prepare: unused, batch: unused };
const libsql = { execute: unused, batch: unused };
const storage = { sql: { exec: unused }, transactionSync: unused };
/** What the SQLite stores have in common. */
const ofSqlite = {
  table: ["", 5, null, "a\0b", "é".repeat(25)],
  onUnreadable: [5, null],
  now: [5, null],
};
const timeoutMs = [0, -1, 0.5, Number.NaN, Infinity, 2 ** 31, "9", null];
const ioRedis = { eval: client.eval, evalsha: client.eval };
const key = new Uint8Array(32);
const keys = { keys: { current: key }, fingerprintKey: key };
const store = createMemoryStore();

/** Each factory, options that it takes, and options that it refuses, by the field that it names. */
const factories: Record<string, [(options: any) => unknown, object, Record<string, unknown[]>]> = {
  createMemoryStore: [
    createMemoryStore,
    {},
    { maxRecords: [0, -1, 1.5, Number.NaN, Infinity, "9"], maxRecord: [5], now: [5] },
  ],
  createSqliteStore: [
    createSqliteStore,
    { path },
    {
      path: [5, null, new Uint8Array()],
      table: ["", 5, null, "a\0b"],
      busyTimeoutMs: [-1, 0.5, Number.NaN, Infinity, 2 ** 31, "9", null],
      busyTimeout: [5],
      timeoutMs: [5],
      onUnreadable: [5, null],
      now: [5, null],
    },
  ],
  "createSqliteStore with a database": [
    createSqliteStore,
    { database: new DatabaseSync(path) },
    { database: [5, {}, "sessions.db", null] },
  ],
  createLibsqlStore: [
    createLibsqlStore,
    { client: libsql },
    { ...ofSqlite, timeoutMs, client: [undefined, null, {}, { execute: unused }, "libsql://x"] },
  ],
  createD1Store: [
    createD1Store,
    { database: d1 },
    {
      ...ofSqlite,
      timeoutMs,
      database: [undefined, null, {}, { batch: unused }, "DB"],
      client: [d1],
    },
  ],
  createDurableObjectStore: [
    createDurableObjectStore,
    { storage },
    { ...ofSqlite, storage: [undefined, null, {}, { transactionSync: unused }, 5], timeoutMs: [5] },
  ],
  createPostgresStore: [
    createPostgresStore,
    { pool },
    {
      pool: [undefined, null, {}, "postgres://localhost"],
      schema: ["", 5],
      table: ["", 5, null],
      listen: [5, null, "yes"],
      prepare: [5, null],
      timeoutMs,
      timeout: [5],
      onUnreadable: [5, null],
      now: [5, null],
    },
  ],
  "createPostgresStore with query": [
    createPostgresStore,
    { query: pool.query },
    {
      query: [5, null, pool, "SELECT 1"],
      pool: [pool, null],
      listen: [5, null, true, false],
      prepare: [true, false, null],
    },
  ],
  createRedisStore: [
    createRedisStore,
    { client },
    {
      client: [undefined, null, {}, { eval: client.eval }, "redis://localhost"],
      subscriber: [5, null, {}, client],
      prefix: ["", "{x}", "a{b", "}", 5, null],
      timeoutMs,
      timeouts: [5],
      onUnreadable: [5, null],
      now: [5, null],
    },
  ],
  "createRedisStore with a client of ioredis": [
    createRedisStore,
    { client: ioRedis },
    { client: [{ evalsha: client.eval }, { ...ioRedis, options: { keyPrefix: "p:" } }] },
  ],
  createUpstashStore: [
    createUpstashStore,
    { url: "https://x.upstash.io", token: "t" },
    {
      url: [undefined, null, 5, "", "x.upstash.io", "rediss://x.upstash.io"],
      token: [undefined, null, 5, "", "a b", "a\n"],
      prefix: ["", "{x}", 5, null],
      timeoutMs: [0, -1, Infinity, "9", null],
      fetch: [5, null],
      onUnreadable: [5, null],
      now: [5, null],
      client: [5],
    },
  ],
  createDynamoDbStore: [
    createDynamoDbStore,
    { client: { send: client.eval }, table: "sessions" },
    {
      client: [undefined, null, {}, "sessions"],
      table: [undefined, "", 5, null],
      prefix: ["", 5, null],
      shards: [0, -1, 1.5, 101, "4", null],
      timeoutMs: [0, -1, Infinity, "9", null],
      onUnreadable: [5, null],
      now: [5, null],
      tableName: [5],
    },
  ],
  encryptStore: [
    (options) => encryptStore(store, options),
    keys,
    { key: [key], onUnreadable: [5, null] },
  ],
  "encryptStore, for the store": [
    (options) => encryptStore(options.store, keys),
    { store },
    { store: [undefined, null, {}, { ...store, touch: undefined }, "sessions.db"] },
  ],
};

describe.each(Object.entries(factories))("%s", (_, [create, valid, invalid]) => {
  const wrong = Object.entries(invalid).flatMap(([field, values]) =>
    values.map((value) => [field, value] as const),
  );

  test("takes what is documented", () => {
    expect(() => create(valid)).not.toThrow();
  });

  test.each(wrong)("refuses %s: %s, and names it", (field, value) => {
    expect(() => create({ ...valid, [field]: value })).toThrow(
      expect.objectContaining({
        code: "CONNECTION_INVALID",
        data: { field },
        message: expect.stringContaining(field),
      }),
    );
  });
});

test("a misspelt option is told the right name", () => {
  expect(() => createSqliteStore({ path, busyTimeout: 5 } as never)).toThrow(
    "busyTimeout is not a known option. Did you mean busyTimeoutMs?",
  );
});

test.each([{ rows: [] }, [["1", "2"]], undefined])(
  "a query of PostgreSQL that returns %j does not read as no row",
  async (answer) => {
    const through = createPostgresStore({ query: async () => answer as never });
    for (const attempt of [through.get("k"), through.put("k", 1, null, { owner: "o" })]) {
      await expect(attempt).rejects.toMatchObject({
        code: "CONNECTION_INVALID",
        data: { field: "query" },
      });
    }
  },
);

test.each([undefined, null, 5, "sessions.db", []])(
  "no factory takes %s for its options",
  (value) => {
    const all = [
      ...[createMemoryStore, createSqliteStore, createPostgresStore, createRedisStore],
      ...[createLibsqlStore, createD1Store, createDurableObjectStore],
    ];
    for (const create of all as ((options: any) => unknown)[]) {
      // The memory store needs none.
      if (create === createMemoryStore && value === undefined) continue;
      expect(() => create(value)).toThrow(
        expect.objectContaining({ code: "CONNECTION_INVALID", data: { field: "options" } }),
      );
    }
  },
);
