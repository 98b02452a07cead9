import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, invalidOption, type OptionKinds } from "@durable-mcp/core/internal";
import { createDrivenStore } from "@durable-mcp/core/store-driver";
import { storeKinds, type StoreOptions } from "./base/store-options.ts";
import {
  checkRedisClient,
  type IoRedisClient,
  isIoRedis,
  type RedisClient,
  type RedisScriptOptions,
  type RedisSubscriber,
  sendWith,
} from "./redis/clients.ts";
import { createRedisDriver } from "./redis/driver.ts";
import { createRedisNotices, subscriberSource } from "./redis/notices.ts";

export type { IoRedisClient, RedisClient, RedisScriptOptions, RedisSubscriber };

/** Options of `createRedisStore`. */
export interface RedisStoreOptions extends StoreOptions {
  /**
   * A client of `redis` or of `ioredis`. It stays yours: give it an `error` listener, connect it, and close
   * it. A client of `ioredis` sends a command again whose answer was lost, even after `timeoutMs`, unless
   * its `autoResendUnfulfilledCommands` is false. Without a `commandTimeout` it then keeps the command for ever.
   */
  readonly client: RedisClient | IoRedisClient;
  /**
   * Another connected client of `redis`, for `subscribe`; it stays yours. Without it, the store duplicates `client`
   * while there are subscribers. It cannot duplicate a pool, a cluster or a client of `ioredis`, and then has neither
   * `publish` nor `subscribe`.
   */
  readonly subscriber?: RedisSubscriber | undefined;
  /** The store's keys start with it, in braces; one store lives on one shard. @default "mcp-sessions" */
  readonly prefix?: string | undefined;
}

const kinds: OptionKinds<RedisStoreOptions> = {
  ...{ ...storeKinds, client: checkRedisClient, prefix: "anything" },
  subscriber: { methods: ["subscribe", "unsubscribe", "on"], is: "a client of redis" },
};

/**
 * A store in Redis 6.2 or newer, through a client of `redis` or of `ioredis`. There is nothing to create
 * beforehand.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createRedisStore(options: RedisStoreOptions): SessionStore {
  checkKnown(options, kinds, { required: ["client"] });
  const { client, subscriber, prefix, timeoutMs = 10_000, onUnreadable, now } = options;
  if (subscriber !== undefined && isIoRedis(subscriber))
    throw invalidOption("subscriber", "must be a client of redis");
  const { driver, publish, channelOf } = createRedisDriver(sendWith(client), prefix, timeoutMs);
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
