import { connectionFailure, timeLimited, wait } from "@durable-mcp/core/internal";
import pRetry from "p-retry";
import { handshakeMethod } from "./handshake-method.ts";

type Fetch = typeof globalThis.fetch;

/** The pause before the second attempt, in milliseconds, up to twice as long by chance; then it doubles. */
const pauseMs = 100;
/** A server that asks for a longer pause, in milliseconds, is not asked again: a step is too short. */
const maxPauseMs = 60_000;
/** For the end of a session that the first attempt made, in milliseconds. */
const endTimeoutMs = 5_000;

interface RetryOptions {
  /** `undefined`: once for `initialize` and `tools/list`, never for others. */
  readonly maxRetries: number | undefined;
  /** The time for all attempts of those two, in milliseconds. */
  readonly connectMs: number;
  /** The same for others. */
  readonly callMs: number;
}

/**
 * The fetch, which sends a request again that was certainly not carried out: if the server has no time for it
 * (429; 503 with `Retry-After`) or, with `maxRetries`, if no connection could be made. `initialize` and
 * `tools/list` are also sent again after any 503 and after a reset. Nothing can be done twice with them,
 * because nobody uses a session whose `initialize` got no answer. `Retry-After` is heeded, if that leaves time
 * for an answer.
 */
export function withRetries(fetch: Fetch, { maxRetries, connectMs, callMs }: RetryOptions): Fetch {
  /**
   * The methods that were sent again, and failed again, and did not succeed since: clients try `initialize`
   * twice themselves.
   */
  const spent = new Set<string>();
  return async (input, init = {}) => {
    const method = handshakeMethod(init.body);
    const isHandshake = method === "initialize" || method === "tools/list";
    const retries = isHandshake ? (maxRetries ?? 1) : (maxRetries ?? 0);
    // Streams are sent once, and what has no body is no message.
    if (retries === 0 || typeof init.body !== "string") return await fetch(input, init);
    if (method !== undefined && spent.has(method)) {
      const response = await fetch(input, init);
      // The server is back.
      if (response.ok) spent.delete(method);
      return response;
    }
    const { signal } = init;
    const endsAt = performance.now() + (isHandshake ? connectMs : callMs);
    const attempt = async () => {
      const outcome = await fetch(input, init).then(
        (response) => ({ response }),
        (error: unknown) => ({ error }),
      );
      const pause = pauseAfter(outcome, { isHandshake, isAsked: maxRetries !== undefined });
      if (pause === undefined) return outcome;
      throw new PassingFailure(outcome, pause);
    };
    const outcome = await pRetry(attempt, {
      retries,
      minTimeout: pauseMs,
      randomize: true,
      ...(signal && { signal }),
      async shouldRetry({ error, attemptNumber }) {
        if (!(error instanceof PassingFailure) || error.pause > maxPauseMs) return false;
        if (performance.now() + error.pause + pauseMs * 2 ** attemptNumber >= endsAt) return false;
        await letGo(error.outcome);
        if (method === "initialize")
          endNamed(error.outcome, (end) => fetch(input, { ...init, ...end }));
        await wait(error.pause, signal ?? undefined);
        return true;
      },
    }).catch((error: unknown) => {
      if (method !== undefined) spent.add(method);
      return error instanceof PassingFailure ? error.outcome : { error };
    });
    if ("error" in outcome) throw outcome.error;
    return outcome.response;
  };
}

type Outcome = { readonly response: Response } | { readonly error: unknown };

/** A first attempt after which a second one may succeed. */
class PassingFailure extends Error {
  readonly outcome: Outcome;
  /** How long the server asks to wait, in milliseconds. */
  readonly pause: number;

  constructor(outcome: Outcome, pause: number) {
    super();
    this.outcome = outcome;
    this.pause = pause;
  }
}

interface Retried {
  readonly isHandshake: boolean;
  /** Whether the application asked for retries. */
  readonly isAsked: boolean;
}

/** How long to wait before another attempt, in milliseconds; `undefined` if there must be none. */
function pauseAfter(outcome: Outcome, { isHandshake, isAsked }: Retried): number | undefined {
  if ("error" in outcome) {
    const failure = connectionFailure(outcome.error);
    const isHarmless = isHandshake && failure?.reason === "reset";
    const mayPass = failure?.sent === "never" && !lasting.has(failure.reason);
    return isHarmless || (isAsked && mayPass) ? 0 : undefined;
  }
  const { status, headers } = outcome.response;
  const value = headers.get("retry-after");
  // A proxy answers 503 by itself, also when the server has taken the request. Only a server asks back.
  const isRefused = status === 429 || (status === 503 && (isHandshake || value !== null));
  if (!isRefused) return undefined;
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

/** Reasons that a moment does not change. */
const lasting: ReadonlySet<string> = new Set(["certificate", "tls", "other"]);

async function letGo(outcome: Outcome) {
  if ("response" in outcome) await outcome.response.body?.cancel().catch(() => undefined);
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
