import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, checkMethods, checkMs, invalidOption } from "@durable-mcp/core/internal";
import { createDrivenStore } from "@durable-mcp/core/store-driver";
import { listFromRedis, printTime } from "./redis/list.ts";
import { type RedisScript, redisScripts } from "./redis/scripts.ts";

/**
 * The part of a `redis` client that the store needs: `createClient`, `createClientPool`, `createCluster`.
 */
export interface RedisClient {
  eval(script: string, options: RedisScriptOptions): Promise<unknown>;
  evalSha(sha1: string, options: RedisScriptOptions): Promise<unknown>;
}

export interface RedisScriptOptions {
  keys: string[];
  arguments: string[];
}

export interface RedisStoreOptions {
  /** A client of `redis`. It stays yours: give it an `error` listener, connect it, and close it. */
  readonly client: RedisClient;
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
  checkKnown(options, ["client", "prefix", "timeoutMs", "onUnreadable", "now"]);
  const { client, prefix = "mcp-sessions", timeoutMs = 10_000, onUnreadable, now } = options;
  checkMethods(client, "client", ["eval", "evalSha"], "a client of redis");
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) {
    throw invalidOption("prefix", "must be a text without braces, and not empty");
  }
  checkMs(timeoutMs, "timeoutMs");
  // The part in braces decides on the shard. Scripts need all keys of a store on one shard.
  const name = (part: string) => `{${prefix}}:${part}`;
  const keys = ["keys", "owners", "idle", "expiry"].map(name);

  const run = async (
    script: RedisScript,
    time: number,
    args: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<unknown> => {
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
      async put({ key, text, revision, ifRevision, owner, expiresAt = "" }, time, signal) {
        const args = [key, text, revision, expected(ifRevision), owner, String(expiresAt)];
        return (await run(redisScripts.put, time, args, signal)) === 1;
      },
      async touch(key, at, time, signal) {
        await run(redisScripts.touch, time, [key, printTime(at)], signal);
      },
      async delete(key, ifRevision, time, signal) {
        const args = [key, expected(ifRevision)];
        return (await run(redisScripts.delete, time, args, signal)) === 1;
      },
      list: (selection, time, signal) =>
        listFromRedis(selection, (args) => run(redisScripts.list, time, args, signal)),
    },
    now,
  );
}

interface WithCommandOptions {
  withCommandOptions(options: { abortSignal: AbortSignal; typeMapping: object }): RedisClient;
}

/**
 * The client with options for one call. A command that still waits when the time is up is never sent.
 * Replies are text, whatever the client's settings.
 */
function withSignal(client: RedisClient, abortSignal: AbortSignal | undefined): RedisClient {
  if (!abortSignal || !("withCommandOptions" in client)) return client;
  return (client as RedisClient & WithCommandOptions).withCommandOptions({
    abortSignal,
    typeMapping: {},
  });
}

/** A revision as an argument of the scripts, which tells no revision from an empty one. */
function expected(revision: string | null | undefined): string {
  return revision === null || revision === undefined ? "" : `=${revision}`;
}
