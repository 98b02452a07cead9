import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, invalidOption, lastFetch, type OptionKinds } from "@durable-mcp/core/internal";
import { createDrivenStore } from "@durable-mcp/core/store-driver";
import { storeKinds, type StoreOptions } from "./base/store-options.ts";
import { createRedisDriver, type SendScript } from "./redis/driver.ts";

/** Options of `createUpstashStore`. */
export interface UpstashStoreOptions extends StoreOptions {
  /** The database's REST URL: `UPSTASH_REDIS_REST_URL`. */
  readonly url: string;
  /** Its REST token, one that may write: `UPSTASH_REDIS_REST_TOKEN`. */
  readonly token: string;
  /** The store's keys start with it, in braces. @default "mcp-sessions" */
  readonly prefix?: string | undefined;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const kinds: OptionKinds<UpstashStoreOptions> = {
  ...{ ...storeKinds, url: "anything", token: "anything", prefix: "anything", fetch: "function" },
};

/**
 * A store in Upstash Redis, over its REST API: one request an operation, and two when the database does not
 * know a script yet. It needs `fetch` and Web Crypto, and no package. There is nothing to create beforehand.
 * It has `batch`, but neither `publish` nor `subscribe`. A request of Upstash's holds 10 MB, which a batch of
 * large values exceeds.
 *
 * It reads and writes the same keys as `createRedisStore`, so both can share a database.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 * @see https://upstash.com/docs/redis/features/restapi
 */
export function createUpstashStore(options: UpstashStoreOptions): SessionStore {
  checkKnown(options, kinds);
  const { url, token, prefix, timeoutMs = 10_000, onUnreadable, now } = options;
  if (typeof url !== "string" || !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw invalidOption("url", "must be the database's REST URL, which starts with https://");
  }
  // A header holds these alone, and the runtime's own error would repeat the token.
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    throw invalidOption("token", "must be the database's REST token");
  }
  const { driver } = createRedisDriver(sendByFetch(lastFetch(options.fetch), url, token), prefix);
  return createDrivenStore({ name: "Upstash", timeoutMs, onUnreadable, ...driver }, now);
}

function sendByFetch(fetch: typeof globalThis.fetch, url: string, token: string): SendScript {
  const init = uncached(url);
  return async (how, script, keys, args, signal) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify([how, script, keys.length, ...keys, ...args]),
      // The token is for this address alone.
      redirect: "manual",
      signal: signal ?? null,
      ...init,
    });
    const text = await response.text();
    let answer: { readonly result?: unknown; readonly error?: unknown } | null;
    try {
      answer = JSON.parse(text);
    } catch {
      answer = null;
    }
    if (response.ok && answer?.result !== undefined) return answer.result;
    throw upstashError(response.status, answer?.error);
  };
}

/** Next.js keeps answers of `fetch` unless it is told not to. Older Workers refuse to be told. */
function uncached(url: string): RequestInit {
  const init: RequestInit = { cache: "no-store" };
  try {
    void new Request(url, init);
    return init;
  } catch {
    return {};
  }
}

/**
 * An error with the code of Redis, such as `OOM`, or one from Upstash's words: `ERR max request size
 * exceeded` has no code of its own. The rest of the words may repeat what was sent.
 */
function upstashError(status: number, said: unknown): Error {
  const words = typeof said === "string" ? said : "";
  const [, limit] = /^ERR ((?:max|DB) [\w ]{1,25} exceeded)/.exec(words) ?? [];
  const [redis] = /^[A-Z]{3,20}\b/.exec(words) ?? [];
  const code = limit?.toUpperCase().replaceAll(" ", "_") ?? redis ?? `HTTP_${status}`;
  return Object.assign(new Error(`${code} (HTTP ${status})`), { code });
}
