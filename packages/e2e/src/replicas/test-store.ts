import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../stores/test/postgres-user.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";

/** A store that several processes may open. */
export interface TestStore {
  /** As the example server's command line takes it. */
  readonly location: string;
  readonly close: () => Promise<void>;
}

type TestStoreKind = keyof typeof openers;

/** Why a store cannot be had on this machine. */
const unavailableStores: Partial<Record<TestStoreKind, string | undefined>> = {
  postgres: postgresUnavailable,
  redis: redisUnavailable,
};

const openers = {
  sqlite: async (): Promise<TestStore> => {
    const folder = mkdtempSync(join(tmpdir(), "durable-mcp-"));
    return {
      location: join(folder, "sessions.db"),
      close: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  postgres: async (): Promise<TestStore> => {
    const server = await startPostgres();
    return {
      location: `postgres://${postgresUser}@127.0.0.1:${server.port}/postgres`,
      close: () => server.remove(),
    };
  },
  redis: async (): Promise<TestStore> => {
    const server = await startRedis();
    return { location: `redis://127.0.0.1:${server.port}`, close: () => server.remove() };
  },
};

export async function openTestStore(kind: string): Promise<TestStore> {
  if (!Object.hasOwn(openers, kind)) throw new Error(`There is no store named ${kind}.`);
  const reason = unavailableStores[kind as TestStoreKind];
  if (reason !== undefined) throw new Error(`${kind}: ${reason}`);
  return await openers[kind as TestStoreKind]();
}
