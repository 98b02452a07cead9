import type { OpenedStore } from "@durable-mcp/testing/store";
import { Redis } from "ioredis";
import { createRedisStore, type RedisStoreOptions } from "../src/redis.ts";

/** Opens the store on the server at a port, by a client of ioredis. */
export default async function openIoRedis(
  port: number,
  { timeoutMs = 2_000 }: Pick<RedisStoreOptions, "timeoutMs"> = {},
): Promise<OpenedStore> {
  const client = new Redis(port, "127.0.0.1", { lazyConnect: true });
  client.on("error", () => undefined);
  await client.connect();
  return {
    store: createRedisStore({ client, timeoutMs }),
    close: async () => client.disconnect(),
  };
}
