import { invalidOption } from "@durable-mcp/core/internal";
import type { StoreDriver } from "@durable-mcp/core/store-driver";
import { printTime } from "../base/key-text.ts";
import { retryBusy } from "../base/retry-busy.ts";
import { listFromRedis } from "./list.ts";
import { redisScripts, sha1Of } from "./scripts.ts";
import { createRedisWrites, type RunRedisScript } from "./writes.ts";

/** Sends one script: `EVAL` with its text, `EVALSHA` with its SHA-1. */
export type SendScript = (
  how: "EVAL" | "EVALSHA",
  script: string,
  keys: readonly string[],
  args: readonly string[],
  signal: AbortSignal | undefined,
) => Promise<unknown>;

/**
 * What every store in Redis does, whoever sends its scripts.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for a prefix that is none
 */
export function createRedisDriver(
  sendOnce: SendScript,
  prefix = "mcp-sessions",
  timeoutMs = 10_000,
) {
  // It ends before the store's own limit, after which nobody knows.
  const send: SendScript = (...call) =>
    retryBusy(0.9 * timeoutMs, () => sendOnce(...call), isMoving);
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) {
    throw invalidOption("prefix", "must be a text without braces, and not empty");
  }
  // The part in braces decides on the shard. Scripts need all keys of a store on one shard.
  const name = (part: string) => `{${prefix}}:${part}`;
  const keys = ["keys", "owners", "idle", "expiry", "due"].map(name);

  const run: RunRedisScript = async (script, time, args, signal) => {
    const all = [name("record:"), name("value:"), printTime(time), ...args];
    try {
      return await send("EVALSHA", await sha1Of(script), keys, all, signal);
    } catch (error) {
      // Redis has not seen the script since its start, so nothing was done.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return await send("EVAL", script.text, keys, all, signal);
    }
  };
  const getMany: NonNullable<StoreDriver["getMany"]> = async (wanted, time, signal) => {
    const found = await run(redisScripts.get, time, wanted, signal);
    return (found as ([text: string, revision: string] | null)[]).map((each) =>
      each ? { text: each[0], revision: each[1] } : undefined,
    );
  };
  const channelOf = (topic: string) => name(`notices:${topic}`);

  const driver: Omit<StoreDriver, "name"> = {
    getMany,
    get: async (key, time, signal) => (await getMany([key], time, signal))[0],
    async touch(key, at, time, signal) {
      await run(redisScripts.touch, time, [key, printTime(at)], signal);
    },
    ...createRedisWrites(run),
    list: (selection, time, signal) =>
      listFromRedis(selection, (args) => run(redisScripts.list, time, args, signal)),
  };
  const publish = async (topic: string, signal?: AbortSignal) =>
    void (await run(redisScripts.publish, 0, [channelOf(topic)], signal));
  return { driver, publish, channelOf };
}

/** Whether a slot of a cluster moves: nothing was done. */
function isMoving(error: unknown): boolean {
  return error instanceof Error && /^TRYAGAIN\b/.test(error.message);
}
