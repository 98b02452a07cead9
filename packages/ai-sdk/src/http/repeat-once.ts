import { connectionFailure, isRecord, wait } from "@durable-mcp/core/internal";

type Fetch = typeof globalThis.fetch;

/** What may be sent once more: nothing can be done twice by it. */
const harmless: ReadonlySet<unknown> = new Set(["initialize", "tools/list"]);

/** Between the attempts, in milliseconds: random, so that not all processes come back at once. */
const pause = { least: 50, most: 250 };
/** A server that wants more time than this is not asked again, in milliseconds. */
const maxRetryAfterMs = 2_000;

/**
 * Sends the first `initialize` and the first `tools/list` once more after a random pause, if the server
 * refuses with 503 or 429, or if the connection breaks before an answer. The pause is not shorter than a
 * `Retry-After`.
 */
export function repeatOnce(fetch: Fetch): Fetch {
  const repeated = new Set<unknown>();
  return async (input, init) => {
    const method = methodOf(init?.body);
    if (!harmless.has(method) || repeated.has(method)) return await fetch(input, init);
    let leastMs = 0;
    try {
      const response = await fetch(input, init);
      const afterMs = retryAfterMs(response);
      if (afterMs === undefined) return response;
      leastMs = afterMs;
      await response.body?.cancel();
    } catch (error) {
      if (init?.signal?.aborted || connectionFailure(error)?.reason !== "reset") throw error;
    }
    repeated.add(method);
    const randomMs = pause.least + Math.random() * (pause.most - pause.least);
    await wait(leastMs + randomMs, init?.signal ?? undefined);
    return await fetch(input, init);
  };
}

/** The JSON-RPC method of a body. */
function methodOf(body: unknown): unknown {
  if (typeof body !== "string" || !/"(?:initialize|tools\/list)"/.test(body)) return undefined;
  const message: unknown = JSON.parse(body);
  return isRecord(message) ? message["method"] : undefined;
}

/** When to ask again, in milliseconds from now; `undefined` if not at all. */
function retryAfterMs({ status, headers }: Response): number | undefined {
  if (status !== 503 && status !== 429) return undefined;
  const text = headers.get("retry-after");
  if (text === null) return 0;
  // Seconds, or a date.
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return ms <= maxRetryAfterMs ? Math.max(0, ms) : undefined;
}
