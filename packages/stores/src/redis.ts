import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, checkMethods, checkMs } from "@durable-mcp/core/internal";
import { createDrivenStore } from "@durable-mcp/core/store-driver";
import {
  checkRedisClient,
  type IoRedisClient,
  type RedisClient,
  type RedisScriptOptions,
  type RedisSubscriber,
  sendWith,
} from "./redis/clients.ts";
import { createRedisDriver } from "./redis/driver.ts";
import type { IoRedisSubscriber } from "./redis/io-redis-subscriber.ts";
import { createRedisNotices, subscriberSource } from "./redis/notices.ts";

export type { IoRedisClient, IoRedisSubscriber, RedisClient, RedisScriptOptions, RedisSubscriber };

/** Options of `createRedisStore`. */
export interface RedisStoreOptions {
  /**
   * A client of `redis` or of `ioredis`. It stays yours: give it an `error` listener, connect it, and close
   * it. A client of `ioredis` sends a command again whose answer was lost, even after `timeoutMs`, unless
   * its `autoResendUnfulfilledCommands` is false.
   */
  readonly client: RedisClient | IoRedisClient;
  /**
   * A connected client of its own for `subscribe`, of either package; it stays yours. Without it, the store
   * makes a duplicate of `client` while there are subscribers. With a pool or a cluster it cannot, and has
   * neither `publish` nor `subscribe`.
   */
  readonly subscriber?: RedisSubscriber | IoRedisSubscriber | undefined;
  /** The store's keys start with it, in braces; one store lives on one shard. @default "mcp-sessions" */
  readonly prefix?: string | undefined;
  /** How long one operation may take, in milliseconds; what was not sent by then never is. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Called for a value that is not JSON. It reads as `null`. @default warns once on the console */
  readonly onUnreadable?: (() => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/**
 * A store in Redis 6.2 or newer, through a client of `redis` or of `ioredis`. There is nothing to create
 * beforehand.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createRedisStore(options: RedisStoreOptions): SessionStore {
  checkKnown(options, ["client", "subscriber", "prefix", "timeoutMs", "onUnreadable", "now"]);
  const { client, subscriber, prefix, timeoutMs = 10_000, onUnreadable, now } = options;
  checkRedisClient(client);
  if (subscriber !== undefined) {
    const methods = ["subscribe", "unsubscribe", "on"];
    checkMethods(subscriber, "subscriber", methods, "a client of redis or of ioredis");
  }
  checkMs(timeoutMs, "timeoutMs");
  const { driver, publish, channelOf } = createRedisDriver(sendWith(client), prefix);
  const source = subscriberSource(client, subscriber);
  return createDrivenStore(
    {
      name: "Redis",
      timeoutMs,
      onUnreadable,
      ...driver,
      ...(source && { publish, subscribe: createRedisNotices(source, channelOf) }),
    },
    now,
  );
}
