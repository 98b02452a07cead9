/** A Cloudflare Worker that counts in a store: each request opens its own connection, as Workers have to. */
import type { SessionStore } from "@durable-mcp/core";
import { encryptValues } from "@durable-mcp/core/sealing";
import pg from "pg";
import { createClient } from "redis";
import { createPostgresStore } from "../src/postgres.ts";
import { createRedisStore } from "../src/redis.ts";
import { postgresUser } from "./postgres-user.ts";

export interface CountInStore {
  readonly kind: "postgres" | "redis";
  readonly port: number;
}

/** What one request saw and did. */
export interface Counted {
  readonly count: number;
  /** Of a write to a revision that is not stored. */
  readonly stale: boolean;
  readonly listed: number;
  /** The same, of a value that is sealed. */
  readonly sealed: number;
}

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

export default {
  async fetch(request: Request, _: unknown, context: Context): Promise<Response> {
    const { kind, port } = (await request.json()) as CountInStore;
    const { store, close } = kind === "postgres" ? await openPostgres(port) : await openRedis(port);
    try {
      const counted = await count(store, "count");
      const { count: sealed } = await count(encryptValues(store, { keys }), "sealed");
      return Response.json({ ...counted, sealed } satisfies Counted);
    } finally {
      context.waitUntil(close());
    }
  },
};

const keys = { current: new Uint8Array(32) };

async function count(store: SessionStore, key: string) {
  const before = await store.get(key);
  const written = Number(before?.value ?? 0) + 1;
  await store.put(key, written, before?.revision ?? null, { owner: key });
  const { ok } = await store.put(key, 0, null, { owner: key });
  const { records } = await store.list({ owner: key, limit: 10 });
  const after = await store.get(key);
  return { count: Number(after?.value), stale: ok, listed: records.length };
}

async function openPostgres(port: number) {
  const pool = new pg.Pool({ host: "127.0.0.1", port, user: postgresUser, database: "postgres" });
  pool.on("error", () => undefined);
  // A connection that listens would outlive its request.
  const store = createPostgresStore({ pool, listen: false });
  await store.createTables();
  return { store, close: () => pool.end() };
}

async function openRedis(port: number) {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  client.on("error", () => undefined);
  await client.connect();
  return { store: createRedisStore({ client }), close: () => client.close() };
}
