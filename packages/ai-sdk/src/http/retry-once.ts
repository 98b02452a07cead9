import { connectionFailure, wait } from "@durable-mcp/core/internal";
import pRetry from "p-retry";
import { handshakeMethod } from "./handshake-method.ts";

type Fetch = typeof globalThis.fetch;

/** The pause before the second attempt, in milliseconds. Chance makes it up to twice as long. */
const pauseMs = 100;
/** For the end of a session that the first attempt made, in milliseconds. */
const endTimeoutMs = 5_000;

/**
 * The fetch, which sends `initialize` and `tools/list` once more if the server has no time for them (503,
 * 429) or resets the connection. Nothing can be done twice with them, because nobody uses a session whose
 * `initialize` got no answer. `Retry-After` is heeded, if that leaves time for an answer.
 *
 * @param connectMs the time for both attempts, in milliseconds
 */
export function withOneRetry(fetch: Fetch, connectMs: number): Fetch {
  /** The methods that were sent once more, and failed again: clients try `initialize` twice themselves. */
  const spent = new Set<string>();
  return async (input, init = {}) => {
    const method = handshakeMethod(init.body);
    const isRepeatable = method === "initialize" || method === "tools/list";
    if (!isRepeatable || spent.has(method)) return await fetch(input, init);
    const { signal } = init;
    const endsAt = performance.now() + connectMs;
    const attempt = async () => {
      const outcome = await fetch(input, init).then(
        (response) => ({ response }),
        (error: unknown) => ({ error }),
      );
      const pause = pauseAfter(outcome);
      if (pause === undefined) return outcome;
      throw new PassingFailure(outcome, pause);
    };
    const outcome = await pRetry(attempt, {
      retries: 1,
      minTimeout: pauseMs,
      randomize: true,
      ...(signal && { signal }),
      async shouldRetry({ error }) {
        if (!(error instanceof PassingFailure)) return false;
        if (performance.now() + error.pause + 2 * pauseMs >= endsAt) return false;
        await giveUp(error.outcome, (end) => fetch(input, { ...init, ...end }));
        await wait(error.pause, signal ?? undefined);
        return true;
      },
    }).catch((error: unknown) => {
      spent.add(method);
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

/** How long to wait before another attempt, in milliseconds; `undefined` if there must be none. */
function pauseAfter(outcome: Outcome): number | undefined {
  if ("error" in outcome) {
    return connectionFailure(outcome.error)?.reason === "reset" ? 0 : undefined;
  }
  const { status, headers } = outcome.response;
  if (status !== 503 && status !== 429) return undefined;
  const value = headers.get("retry-after");
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

/** Lets a refusal go, and ends the session that it names. Best effort. */
async function giveUp(outcome: Outcome, send: (end: RequestInit) => Promise<Response>) {
  if ("error" in outcome) return;
  const { body, headers } = outcome.response;
  await body?.cancel().catch(() => undefined);
  const id = headers.get("mcp-session-id");
  if (id === null) return;
  const end = { method: "DELETE", headers: { "mcp-session-id": id }, body: null };
  void send({ ...end, signal: AbortSignal.timeout(endTimeoutMs) })
    .then((response) => response.body?.cancel())
    .catch(() => undefined);
}
