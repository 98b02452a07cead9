import { timeLimited, wait } from "../base/bounded-wait.ts";
import { isRecord } from "../base/json-values.ts";
import { serverLimits } from "../base/server-limits.ts";
import { connectionFailure } from "./connection-failure.ts";
import { safeMethods } from "./json-rpc.ts";
import { letGo } from "./read-answer.ts";

type Fetch = typeof globalThis.fetch;

/** With these a connection begins. Nobody would miss a session whose `initialize` got no answer. */
const handshakeMethods: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

/** The JSON-RPC method in a body of `fetch`, if nothing can be done twice with it. */
export function safeMethodIn(body: unknown): string | undefined {
  if (typeof body !== "string") return undefined;
  try {
    const message: unknown = JSON.parse(body);
    const method = isRecord(message) ? String(message["method"]) : "";
    return safeMethods.has(method) || handshakeMethods.has(method) ? method : undefined;
  } catch {
    return undefined;
  }
}

/** The pause before the second attempt, in milliseconds, up to twice as long by chance. */
const pauseMs = 100;
/** For the end of a session that the first attempt made, in milliseconds. */
const endTimeoutMs = 5_000;

/**
 * The fetch, which sends safe requests once more: after a reset each of them, and handshakes and `tools/list` too if
 * the server has no time for them (429, 503). `Retry-After` is heeded, if that leaves time for an answer.
 *
 * @param own @default the global one of the time
 * @param limitMs the time for both attempts, in milliseconds
 */
export function sendingSafeAgain(own: Fetch | undefined, limitMs: number): Fetch {
  const fetch: Fetch = (...request) => (own ?? globalThis.fetch)(...request);
  /**
   * The methods that were sent again, and failed again, and did not succeed since: clients try `initialize`
   * twice themselves.
   */
  const spent = new Set<string>();
  return async (input, init = {}) => {
    const endsAt = performance.now() + limitMs;
    const send = async () =>
      await fetch(input, init).then(
        (response) => ({ response }),
        (error: unknown) => ({ error }),
      );
    const first = await send();
    const isFailed = "error" in first || !first.response.ok;
    // Calls may be long, and take time to parse.
    const method = isFailed || spent.size > 0 ? safeMethodIn(init.body) : undefined;
    if (method === undefined) return outcomeOf(first);
    // The server is back.
    if (!isFailed) spent.delete(method);
    const asked = pauseAfter(first, method);
    if (asked === undefined || asked > serverLimits.retryAfterMs || spent.has(method))
      return outcomeOf(first);
    const pause = asked + pauseMs * (1 + Math.random());
    if (performance.now() + pause >= endsAt) return outcomeOf(first);
    if ("response" in first) letGo(first.response);
    if (method === "initialize") endNamed(first, (end) => fetch(input, { ...init, ...end }));
    await wait(pause, init.signal ?? undefined);
    const second = await send();
    if (pauseAfter(second, method) !== undefined) spent.add(method);
    return outcomeOf(second);
  };
}

type Outcome = { readonly response: Response } | { readonly error: unknown };

function outcomeOf(outcome: Outcome): Response {
  if ("error" in outcome) throw outcome.error;
  return outcome.response;
}

/**
 * Which failures of a safe request are none of the server's own answers, and how long it asks to wait before another
 * attempt, in milliseconds; `undefined` if there must be none.
 */
function pauseAfter(outcome: Outcome, method: string): number | undefined {
  if ("error" in outcome) {
    return connectionFailure(outcome.error)?.reason === "reset" ? 0 : undefined;
  }
  const { status, headers } = outcome.response;
  const isBegin = handshakeMethods.has(method) || method === "tools/list";
  // No era is learned from a gateway.
  const isOfGateway = method === "server/discover" && (status === 502 || status === 504);
  if (!isOfGateway && !(isBegin && (status === 429 || status === 503))) return undefined;
  const value = headers.get("retry-after");
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

/** Ends the session that a refusal of `initialize` names. Best effort. */
export function endNamed(outcome: Outcome, send: (end: RequestInit) => Promise<Response>) {
  const id = "response" in outcome ? outcome.response.headers.get("mcp-session-id") : null;
  if (id === null) return;
  const end = { method: "DELETE", headers: { "mcp-session-id": id }, body: null };
  void timeLimited(endTimeoutMs, undefined, (signal) => send({ ...end, signal }))
    .then(letGo)
    .catch(() => undefined);
}
