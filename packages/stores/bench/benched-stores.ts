import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { BatchWriteItemCommand } from "@aws-sdk/client-dynamodb";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import type { StoreSelection } from "@durable-mcp/core/store-driver";
import { createClient } from "redis";
import { attributesOf, primaryKey, usedAt } from "../src/dynamodb/item.ts";
import { postgresList } from "../src/postgres/list.ts";
import { postgresStatements } from "../src/postgres/statements.ts";
import { createPostgresStore } from "../src/postgres.ts";
import { createRedisStore } from "../src/redis.ts";
import { sqliteList } from "../src/sqlite/list.ts";
import { type SqliteStatement, sqliteStatements } from "../src/sqlite/statements.ts";
import { createSqliteStore } from "../src/sqlite.ts";
import { startDynamoDb } from "../test/dynamodb-server.ts";
import openDynamoDb from "../test/open-dynamodb.ts";
import { createPool } from "../test/open-postgres.ts";
import { postgresUnavailable, startPostgres } from "../test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../test/redis-server.ts";

/** A store to measure. */
export interface BenchedStore {
  readonly name: string;
  readonly store: SessionStore;
  /** How many puts to have under way while it is filled. */
  readonly concurrency: number;
  /** Adds idle sessions without a value in bulk: those with these numbers. They were used a day before. */
  readonly fillIdle?: (from: number, to: number) => Promise<void>;
  /** How many of these are waited for. @default all */
  readonly mostIdle?: number;
  /** How many items the database has looked at for lists so far, where it says so. */
  readonly itemsRead?: () => number;
  /** Before and after many puts that are not measured. */
  readonly beginFilling?: () => void;
  readonly endFilling?: () => Promise<void>;
  /** After what was done to make ready. */
  readonly beginMeasuring?: () => Promise<void>;
  /** How the database finds what these listings and the writes ask for. */
  readonly plans?: (listings: Readonly<Record<string, StoreSelection>>) => Promise<string>;
  remove(): Promise<void>;
}

type Opener = (now: () => number) => Promise<BenchedStore>;

/** All stores; of a server that is not on this machine the reason instead. */
export const openers: Readonly<Record<string, Opener | string>> = {
  memory: async (now) => ({
    name: "memory",
    store: createMemoryStore({ now, maxRecords: 1_000_000 }),
    concurrency: 1,
    remove: async () => {},
  }),
  sqlite: openSqlite,
  postgres: postgresUnavailable ?? openPostgres,
  redis: redisUnavailable ?? openRedis,
};

/** Those that only some programs measure, too. */
export const allOpeners: typeof openers = { ...openers, dynamodb: openDynamo };

const dayMs = 86_400_000;

async function openSqlite(now: () => number): Promise<BenchedStore> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-bench-"));
  const database = new DatabaseSync(join(folder, "sessions.db"), { timeout: 5_000 });
  database.exec("PRAGMA journal_mode = WAL");
  const store = createSqliteStore({ database, now });
  await store.createTables();
  return {
    name: "SQLite",
    store,
    concurrency: 100,
    async fillIdle(from, to) {
      database.exec(`INSERT INTO mcp_sessions
        WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${to})
        SELECT '["default","idle ' || i || '","notes","app"]', '{}', 'r', '["app"]',
          ${now() - dayMs} + i, NULL FROM n`);
    },
    beginFilling: () => database.exec("PRAGMA synchronous = OFF"),
    endFilling: async () =>
      database.exec("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)"),
    async plans(listings) {
      const { get, update, purge } = sqliteStatements();
      const statements: [name: string, statement: SqliteStatement][] = [
        ...Object.entries(listings).map(([name, selection]): [string, SqliteStatement] => [
          name,
          sqliteList(selection, 1),
        ]),
        ["get", [get, "", 1]],
        ["save", [update, "", "", "", "", 1, null, ""]],
        ["delete what has expired", [purge, 1]],
      ];
      return statements
        .map(([name, [sql, ...values]]) => {
          const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
          return `${name}: ${steps.map(({ detail }) => String(detail)).join("; ")}`;
        })
        .join("\n");
    },
    async remove() {
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openPostgres(now: () => number): Promise<BenchedStore> {
  const server = await startPostgres();
  const pool = createPool(server.port);
  const store = createPostgresStore({ pool, now });
  await store.createTables();
  return {
    name: "PostgreSQL",
    store,
    concurrency: 10,
    async fillIdle(from, to) {
      await pool.query(`INSERT INTO mcp_sessions
        SELECT sha256(convert_to(key, 'UTF8')), key, '{}', 'r', sha256('["app"]'), '["app"]', at, NULL
        FROM (SELECT '["default","idle ' || i || '","notes","app"]' AS key, ${now() - dayMs} + i AS at
          FROM generate_series(${from}, ${to - 1}) AS i) AS idle`);
    },
    async endFilling() {
      await pool.query("VACUUM ANALYZE mcp_sessions");
      await pool.query("CHECKPOINT");
    },
    async plans(listings) {
      const statements = postgresStatements('"mcp_sessions"');
      const record = { key: "k", text: "1", revision: "1", owner: "o", expiresAt: undefined };
      const queries = [
        ...Object.entries(listings).map(([name, selection]) => ({
          name,
          ...postgresList('"mcp_sessions"', selection, 1),
        })),
        { name: "get", ...statements.get(["k"], 1) },
        { name: "save", ...statements.put({ ...record, ifRevision: "1" }, 1, true) },
        { name: "save a new one", ...statements.put({ ...record, ifRevision: null }, 1, true) },
      ];
      const plans: string[] = [];
      for (const { name, text, values } of queries) {
        const { rows } = await pool.query(`EXPLAIN (COSTS OFF) ${text}`, [...values]);
        const scans = rows
          .map((row: Record<string, string>) => row["QUERY PLAN"]!.trim().replace(/^-> +/, ""))
          .filter((line) => /\b(Scan|Sort)\b/.test(line));
        plans.push(`${name}: ${scans.join("; ")}`);
      }
      return plans.join("\n");
    },
    async remove() {
      await pool.end();
      await server.remove();
    },
  };
}

async function openRedis(now: () => number): Promise<BenchedStore> {
  const server = await startRedis();
  const client = createClient({ url: `redis://127.0.0.1:${server.port}` });
  await client.connect();
  const store = createRedisStore({ client, now });
  return {
    name: "Redis",
    store,
    concurrency: 50,
    async fillIdle(from, to) {
      for (let at = from; at < to; at += 20_000) {
        const range = [at, Math.min(to, at + 20_000), now() - dayMs].map(String);
        await client.eval(fillRedis, { arguments: range });
      }
    },
    beginMeasuring: async () => void (await client.configResetStat()),
    async plans() {
      const stats = await client.info("commandstats");
      const shown =
        /^cmdstat_(zrangebylex|hmget|get|set|hset|zadd|zrem):.*?calls=(\d+).*?usec_per_call=([\d.]+)/gm;
      return [...stats.matchAll(shown)]
        .map(([, command, calls, usec]) => `${command}: ${calls} calls, ${usec} µs each`)
        .join("\n");
    },
    async remove() {
      client.destroy();
      await server.remove();
    },
  };
}

const fillRedis = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local key = '["default","idle ' .. i .. '","notes","app"]'
  local at = string.format('%016d', tonumber(ARGV[3]) + i)
  redis.call('SET', '{mcp-sessions}:value:' .. key, '{}')
  redis.call('HSET', '{mcp-sessions}:record:' .. key, 'revision', 'r', 'owner', '["app"]',
    'lastUsedAt', at, 'expiresAt', '')
  redis.call('ZADD', '{mcp-sessions}:keys', 0, key)
  redis.call('ZADD', '{mcp-sessions}:owners', 0, '7:["app"]' .. key)
  redis.call('ZADD', '{mcp-sessions}:idle', 0, at .. key)
end`;

async function openDynamo(now: () => number): Promise<BenchedStore> {
  const server = await startDynamoDb();
  const { client, store } = openDynamoDb(server.port, { now });
  await store.createTable();
  let itemsRead = 0;
  client.middlewareStack.add(
    (next) => async (request) => {
      const answer = await next(request);
      itemsRead += (answer.output as { ScannedCount?: number }).ScannedCount ?? 0;
      return answer;
    },
    { step: "initialize" },
  );
  const places = { table: "sessions", prefix: "mcp-sessions", shards: 4 };
  const itemOf = async (n: number) => {
    const key = `["default","idle ${n}","notes","app"]`;
    const primary = await primaryKey(places, key);
    const write = { key, text: "{}", revision: "r", owner: '["app"]' };
    const attributes = await attributesOf(
      { ...write, ifRevision: null, expiresAt: undefined },
      primary,
      now(),
    );
    return { ...primary, ...attributes, ...usedAt(now() - dayMs + n, primary) };
  };
  return {
    name: "DynamoDB (dynalite)",
    store,
    concurrency: 10,
    mostIdle: 100_000,
    itemsRead: () => itemsRead,
    async fillIdle(from, to) {
      for (let at = from; at < to; at += 25) {
        const numbers = Array.from({ length: Math.min(25, to - at) }, (_, index) => at + index);
        const items = await Promise.all(numbers.map(itemOf));
        const requests = items.map((Item) => ({ PutRequest: { Item } }));
        await client.send(new BatchWriteItemCommand({ RequestItems: { sessions: requests } }));
      }
    },
    async remove() {
      client.destroy();
      await server.remove();
    },
  };
}
