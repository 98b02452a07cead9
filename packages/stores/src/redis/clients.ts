import { invalidOption, wait, checkKnown } from "@durable-mcp/core/internal";
import type { SendScript } from "./driver.ts";

/** The part of a `redis` client that the store needs: `createClient`, `createClientPool`, `createCluster`. */
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

/** The part of a `redis` client that `subscribe` needs. */
export interface RedisSubscriber {
  /** Begins to listen to a channel. */
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  /** Stops listening to a channel. */
  unsubscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  /** Listens to the connection's state. */
  on(event: "ready" | "error" | "end", listener: () => void): unknown;
}

/** The part of an `ioredis` client that the store needs: `Redis`, `Cluster`. */
export interface IoRedisClient {
  /** Runs a Lua script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a Lua script that the server knows by its SHA-1. */
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** Whether it is a client of `ioredis`, which writes its methods' names like Redis its commands'. */
export function isIoRedis(client: object): client is IoRedisClient {
  return typeof (client as { evalsha?: unknown }).evalsha === "function";
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkRedisClient(client: unknown): void {
  const isOther = typeof client === "object" && client !== null && isIoRedis(client);
  const methods = ["eval", isOther ? "evalsha" : "evalSha"];
  const is = "a client of redis or of ioredis";
  checkKnown({ client }, { client: { methods, is } }, { required: ["client"] });
  const { keyPrefix } = (client as IoRedisState).options ?? {};
  // It would stand before the store's indexes, and not before the records.
  if (keyPrefix) throw invalidOption("client", "must have no keyPrefix: give the store a prefix");
}

/** How to send a script with a client of either package. */
export function sendWith(client: RedisClient | IoRedisClient): SendScript {
  if (isIoRedis(client)) return sendWithIoRedis(client);
  return async (how, script, keys, args, signal) => {
    const call = { keys: [...keys], arguments: [...args] };
    const scripts = withSignal(client, signal);
    return await (how === "EVAL" ? scripts.eval(script, call) : scripts.evalSha(script, call));
  };
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
  const options = { abortSignal, timeout: 0, typeMapping: {} };
  return (client as RedisClient & WithCommandOptions).withCommandOptions(options);
}

/** The part of an `ioredis` client that says whether it is connected. */
interface IoRedisState {
  readonly status?: string;
  readonly options?: { readonly enableOfflineQueue?: boolean; readonly keyPrefix?: string };
  connect?(): Promise<unknown>;
}

/** How often to look whether a client is connected, in milliseconds. */
const lookMs = 20;

function sendWithIoRedis(client: IoRedisClient & IoRedisState): SendScript {
  const waits = (signal: AbortSignal | undefined) =>
    !signal?.aborted &&
    !["ready", "end", undefined].includes(client.status) &&
    client.options?.enableOfflineQueue !== false;
  return async (how, script, keys, args, signal) => {
    if (client.status === "wait") client.connect?.().catch(() => undefined);
    // What waits in the client itself is sent in the end, however late that is.
    while (waits(signal)) await wait(lookMs);
    signal?.throwIfAborted();
    try {
      const send = how === "EVAL" ? "eval" : "evalsha";
      return await client[send](script, keys.length, ...keys, ...args);
    } catch (error) {
      // It repeats the command, with the value.
      if (error instanceof Error) delete (error as { command?: unknown }).command;
      throw error;
    }
  };
}
