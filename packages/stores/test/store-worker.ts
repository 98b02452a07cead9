/** A Cloudflare Worker that counts in a store: each request opens its own connection, as Workers have to. */
import type { SessionStore } from "@durable-mcp/core";
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
}

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

export default {
  async fetch(request: Request, _: unknown, context: Context): Promise<Response> {
    const { kind, port } = (await request.json()) as CountInStore;
    const { store, close } = kind === "postgres" ? await openPostgres(port) : await openRedis(port);
    try {
      return Response.json(await count(store));
    } finally {
      context.waitUntil(close());
    }
  },
};

async function count(store: SessionStore): Promise<Counted> {
  const before = await store.get("count");
  const written = Number(before?.value ?? 0) + 1;
  await store.put("count", written, before?.revision ?? null, { owner: "worker" });
  const { ok } = await store.put("count", 0, null, { owner: "worker" });
  const { records } = await store.list({ owner: "worker", limit: 10 });
  const after = await store.get("count");
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
