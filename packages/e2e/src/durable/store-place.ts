import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenedStore } from "@durable-mcp/testing/store";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../stores/test/postgres-user.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";

export const storeKinds = ["sqlite", "postgres", "redis"] as const;
export type StoreKind = (typeof storeKinds)[number];

/** Where processes find the store that they share: plain JSON. */
export interface StorePlace {
  readonly kind: StoreKind;
  /** A file, or a port of 127.0.0.1. */
  readonly at: string | number;
}

/** Why a kind of store cannot be tested here; `undefined` when it can. */
export const storeUnavailable: Record<StoreKind, string | undefined> = {
  sqlite: undefined,
  postgres: postgresUnavailable,
  redis: redisUnavailable,
};

/** Starts what a store needs. */
export async function startStorePlace(
  kind: StoreKind,
): Promise<StorePlace & { remove: () => Promise<void> }> {
  if (kind === "sqlite") {
    const folder = mkdtempSync(join(tmpdir(), "durable-mcp-sqlite-"));
    const remove = async () => rmSync(folder, { recursive: true, force: true });
    return { kind, at: join(folder, "sessions.db"), remove };
  }
  const server = await (kind === "postgres" ? startPostgres() : startRedis());
  return { kind, at: server.port, remove: () => server.remove() };
}

export interface StoreTimes {
  /** For each operation, in milliseconds. @default the store's */
  readonly timeoutMs?: number;
  /** The clock of the process. @default Date.now */
  readonly now?: () => number;
}

/** Opens the store in one of the processes, which loads no driver but its own. */
export async function openStoreAt(
  { kind, at }: StorePlace,
  { timeoutMs, now }: StoreTimes = {},
): Promise<OpenedStore> {
  if (kind === "sqlite") {
    const { default: openSqlite } = await import("../../../stores/test/open-sqlite.ts");
    return openSqlite(String(at), { busyTimeoutMs: timeoutMs, now });
  }
  const { default: open } = await (kind === "postgres"
    ? import("../../../stores/test/open-postgres.ts")
    : import("../../../stores/test/open-redis.ts"));
  return await open(Number(at), { timeoutMs, now });
}

/** A store for programs of ours that take its place on their command line. */
export interface TestStore {
  /** A file or a URL. */
  readonly location: string;
  readonly close: () => Promise<void>;
}

export async function openTestStore(kind: StoreKind): Promise<TestStore> {
  const reason = storeUnavailable[kind];
  if (reason !== undefined) throw new Error(`No ${kind}: ${reason}.`);
  const { at, remove } = await startStorePlace(kind);
  const urls = {
    sqlite: String(at),
    postgres: `postgres://${postgresUser}@127.0.0.1:${at}/postgres`,
    redis: `redis://127.0.0.1:${at}`,
  };
  return { location: urls[kind], close: remove };
}
