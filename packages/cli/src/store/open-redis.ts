import { attemptInStore } from "@durable-mcp/core/store-driver";
import { createRedisStore, type RedisClient } from "@durable-mcp/stores/redis";
import { CommandFailure } from "../output/command-failure.ts";
import { loadDriver } from "./load-driver.ts";
import type { StorePlace } from "./place.ts";

interface Driver {
  readonly createClient: (options: object) => RedisClient & {
    readonly isOpen: boolean;
    on(event: "error", listener: () => void): void;
    connect(): Promise<unknown>;
    destroy(): void;
  };
}

const connectTimeoutMs = 10_000;

/** Opens the part of a Redis under a prefix. */
export async function openRedis(address: string, prefix = "mcp-sessions"): Promise<StorePlace> {
  const { createClient } = await loadDriver<Driver>("redis", "Redis");
  const client = createClient({
    url: address,
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false },
  });
  client.on("error", () => undefined);
  const close = async () => {
    if (client.isOpen) client.destroy();
  };
  try {
    await attemptInStore("Redis", "connect", () => client.connect(), connectTimeoutMs);
    const store = createRedisStore({ client, prefix });
    await store.list({ limit: 1 });
    return { store, name: `the Redis prefix ${prefix}`, close };
  } catch (error) {
    await close();
    throw new CommandFailure(`--store: ${(error as Error).message}`);
  }
}
