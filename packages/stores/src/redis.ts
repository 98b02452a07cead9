import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, checkMethods, checkMs, invalidOption } from "@durable-mcp/core/internal";
import { createDrivenStore, type StoreDriver } from "@durable-mcp/core/store-driver";
import { listFromRedis, printTime } from "./redis/list.ts";
import {
  createRedisNotices,
  duplicatedSubscriber,
  givenSubscriber,
  isSingleClient,
  type RedisSubscriber,
} from "./redis/notices.ts";
import { redisScripts } from "./redis/scripts.ts";
import { createRedisWrites, type RunRedisScript } from "./redis/writes.ts";

export type { RedisSubscriber };

/**
 * The part of a `redis` client that the store needs: `createClient`, `createClientPool`, `createCluster`.
 */
export interface RedisClient {
  /** Runs a Lua script. */
  eval(script: string, options: RedisScriptOptions): Promise<unknown>;
  /** Runs a Lua script that the server knows by its SHA-1. */
  evalSha(sha1: string, options: RedisScriptOptions): Promise<unknown>;
}

/** The keys and the arguments of a script. */
export interface RedisScriptOptions {
  keys: string[];
  arguments: string[];
}

/** Options of `createRedisStore`. */
export interface RedisStoreOptions {
  /** A client of `redis`. It stays yours: give it an `error` listener, connect it, and close it. */
  readonly client: RedisClient;
  /**
   * A connected client of `redis` of its own for `subscribe`; it stays yours. Without it, the store makes a
   * duplicate of `client` while there are subscribers. With a pool or a cluster it cannot, and has neither
   * `publish` nor `subscribe`.
   */
  readonly subscriber?: RedisSubscriber | undefined;
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
 * A store in Redis 6.2 or newer, through a client of `redis`. There is nothing to create beforehand.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createRedisStore(options: RedisStoreOptions): SessionStore {
  checkKnown(options, ["client", "subscriber", "prefix", "timeoutMs", "onUnreadable", "now"]);
  const {
    client,
    subscriber,
    prefix = "mcp-sessions",
    timeoutMs = 10_000,
    onUnreadable,
    now,
  } = options;
  checkMethods(client, "client", ["eval", "evalSha"], "a client of redis");
  if (subscriber !== undefined) {
    checkMethods(subscriber, "subscriber", ["subscribe", "unsubscribe", "on"], "a client of redis");
  }
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) {
    throw invalidOption("prefix", "must be a text without braces, and not empty");
  }
  checkMs(timeoutMs, "timeoutMs");
  // The part in braces decides on the shard. Scripts need all keys of a store on one shard.
  const name = (part: string) => `{${prefix}}:${part}`;
  const keys = ["keys", "owners", "idle", "expiry"].map(name);

  const run: RunRedisScript = async (script, time, args, signal) => {
    const scripts = withSignal(client, signal);
    const call = {
      keys: [...keys],
      arguments: [name("record:"), name("value:"), printTime(time), ...args],
    };
    try {
      return await scripts.evalSha(script.sha1, call);
    } catch (error) {
      // Redis has not seen the script since its start, so nothing was done.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return await scripts.eval(script.text, call);
    }
  };

  const channelOf = (topic: string) => name(`notices:${topic}`);
  const source = subscriberSource(client, subscriber);
  const notices: Pick<StoreDriver, "publish" | "subscribe"> | undefined = source && {
    async publish(topic, signal) {
      await run(redisScripts.publish, 0, [channelOf(topic)], signal);
    },
    subscribe: createRedisNotices(source, channelOf),
  };

  return createDrivenStore(
    {
      name: "Redis",
      timeoutMs,
      onUnreadable,
      async get(key, time, signal) {
        const found = await run(redisScripts.get, time, [key], signal);
        if (found === null) return undefined;
        const [text, revision] = found as [string, string];
        return { text, revision };
      },
      async touch(key, at, time, signal) {
        await run(redisScripts.touch, time, [key, printTime(at)], signal);
      },
      ...createRedisWrites(run),
      list: (selection, time, signal) =>
        listFromRedis(selection, (args) => run(redisScripts.list, time, args, signal)),
      ...notices,
    },
    now,
  );
}

interface WithCommandOptions {
  withCommandOptions(options: {
    abortSignal: AbortSignal;
    timeout: number;
    typeMapping: object;
  }): RedisClient;
}

/**
 * The client with options for one call. A command that still waits when the time is up is never sent.
 * Replies are text, whatever the client's settings. The client's own limit would be a second timer.
 */
function withSignal(client: RedisClient, abortSignal: AbortSignal | undefined): RedisClient {
  if (!abortSignal || !("withCommandOptions" in client)) return client;
  return (client as RedisClient & WithCommandOptions).withCommandOptions({
    abortSignal,
    timeout: 0,
    typeMapping: {},
  });
}

/** Where subscribers hear of notices; `undefined` if there is no connection for them. */
function subscriberSource(client: RedisClient, subscriber: RedisSubscriber | undefined) {
  if (subscriber !== undefined) return givenSubscriber(subscriber);
  return isSingleClient(client) ? duplicatedSubscriber(client) : undefined;
}
