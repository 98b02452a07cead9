import {
  connectionFailure,
  isRecord,
  mayMention,
  timeLimited,
  wait,
} from "@durable-mcp/core/internal";

type Fetch = typeof globalThis.fetch;

/** The methods with which a connection begins. They change nothing that anybody would miss. */
const methods = ["initialize", "server/discover", "tools/list"] as const;

/** The method of a JSON-RPC request in a body of `fetch`, if it is one of those. */
export function handshakeMethod(body: unknown): (typeof methods)[number] | undefined {
  // Most bodies are calls, and long ones take time to parse.
  if (typeof body !== "string" || !methods.some((method) => mayMention(body, `"${method}"`))) {
    return undefined;
  }
  try {
    const message: unknown = JSON.parse(body);
    return methods.find((method) => isRecord(message) && message["method"] === method);
  } catch {
    return undefined;
  }
}

/** The pause before the second attempt, in milliseconds, up to twice as long by chance. */
const pauseMs = 100;
/** A server that asks for a longer pause, in milliseconds, is not asked again: a step is too short. */
const maxPauseMs = 60_000;
/** For the end of a session that the first attempt made, in milliseconds. */
const endTimeoutMs = 5_000;

/**
 * The fetch, which sends `initialize` and `tools/list` once more if the server has no time for them (429, 503) or
 * resets the connection. Nothing can be done twice with them, because nobody uses a session whose `initialize` got no
 * answer. `Retry-After` is heeded, if that leaves time for an answer.
 *
 * @param connectMs the time for both attempts, in milliseconds
 */
export function withRetries(fetch: Fetch, connectMs: number): Fetch {
  /**
   * The methods that were sent again, and failed again, and did not succeed since: clients try `initialize`
   * twice themselves.
   */
  const spent = new Set<string>();
  return async (input, init = {}) => {
    const method = handshakeMethod(init.body);
    if (method !== "initialize" && method !== "tools/list") return await fetch(input, init);
    const endsAt = performance.now() + connectMs;
    const send = async () =>
      await fetch(input, init).then(
        (response) => ({ response }),
        (error: unknown) => ({ error }),
      );
    const settled = (outcome: Outcome) => {
      if ("error" in outcome) throw outcome.error;
      // The server is back.
      if (outcome.response.ok) spent.delete(method);
      return outcome.response;
    };
    const first = await send();
    const asked = pauseAfter(first);
    if (asked === undefined || asked > maxPauseMs || spent.has(method)) return settled(first);
    const pause = asked + pauseMs * (1 + Math.random());
    if (performance.now() + pause >= endsAt) return settled(first);
    if ("response" in first) await first.response.body?.cancel().catch(() => undefined);
    if (method === "initialize") endNamed(first, (end) => fetch(input, { ...init, ...end }));
    await wait(pause, init.signal ?? undefined);
    const second = await send();
    if (pauseAfter(second) !== undefined) spent.add(method);
    return settled(second);
  };
}

type Outcome = { readonly response: Response } | { readonly error: unknown };

/** How long the server asks to wait before another attempt, in milliseconds; `undefined` if there must be none. */
function pauseAfter(outcome: Outcome): number | undefined {
  if ("error" in outcome) {
    return connectionFailure(outcome.error)?.reason === "reset" ? 0 : undefined;
  }
  const { status, headers } = outcome.response;
  if (status !== 429 && status !== 503) return undefined;
  const value = headers.get("retry-after");
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

/** Ends the session that a refusal of `initialize` names. Best effort. */
function endNamed(outcome: Outcome, send: (end: RequestInit) => Promise<Response>) {
  const id = "response" in outcome ? outcome.response.headers.get("mcp-session-id") : null;
  if (id === null) return;
  const end = { method: "DELETE", headers: { "mcp-session-id": id }, body: null };
  void timeLimited(endTimeoutMs, undefined, (signal) => send({ ...end, signal }))
    .then((response) => response.body?.cancel())
    .catch(() => undefined);
}
