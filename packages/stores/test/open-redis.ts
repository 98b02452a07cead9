import type { OpenedStore } from "@durable-mcp/testing/store";
import { createClient } from "redis";
import { createRedisStore, type RedisStoreOptions } from "../src/redis.ts";

/** Opens the store on the server at a port. */
export default async function openRedis(
  port: number,
  { timeoutMs = 2_000, now }: Pick<RedisStoreOptions, "timeoutMs" | "now"> = {},
): Promise<OpenedStore> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  // A broken connection is reported here, and made anew by the client.
  client.on("error", () => undefined);
  await client.connect();
  const store = createRedisStore({ client, timeoutMs, now });
  return {
    store,
    async close() {
      if (client.isOpen) client.destroy();
    },
  };
}
