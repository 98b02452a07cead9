import { abortable, timeLimited, wait } from "../base/bounded-wait.ts";
import { isRecord } from "../base/json-values.ts";
import { serverLimits } from "../base/server-limits.ts";
import { partsLength, partsText } from "./byte-parts.ts";
import { connectionFailure } from "./connection-failure.ts";
import { createEventSplitter, type EventBytes, eventText } from "./event-splitter.ts";
import { mayMention, parseMessage, safeMethods } from "./json-rpc.ts";
import { isEventStream, letGo, MAX_MESSAGE_BYTES } from "./read-answer.ts";

type Fetch = typeof globalThis.fetch;

/** Without these a step has no tools. Nobody would miss a session whose `initialize` got no answer. */
const firstMethods: ReadonlySet<string> = new Set([
  ...["initialize", "notifications/initialized", "server/discover", "tools/list"],
]);
/** Those of them that have an answer, in a body. Calls are long, and are not parsed for it. */
const mayNameFirst = /"(?:initialize|server\/discover|tools\/list)"/;

/** Whether a body of `fetch` asks for this method of the handshake. A long body is only parsed if it may. */
export function asksFor(method: "initialize" | "server/discover", body: unknown): boolean {
  const mayAsk = typeof body === "string" && mayMention(body, `"${method}"`);
  return mayAsk && safeMethodIn(body) === method;
}

/** The JSON-RPC method in a body of `fetch`, if nothing can be done twice with it. */
function safeMethodIn(body: unknown): string | undefined {
  if (typeof body !== "string") return undefined;
  try {
    const message: unknown = JSON.parse(body);
    const method = isRecord(message) ? String(message["method"]) : "";
    return safeMethods.has(method) || firstMethods.has(method) ? method : undefined;
  } catch {
    return undefined;
  }
}

/** The pause before the second attempt, in milliseconds, up to twice as long by chance. */
const pauseMs = 100;
/** For the end of a session that the first attempt made, in milliseconds. */
const endTimeoutMs = 5_000;

/**
 * The fetch, which sends safe requests once more: after a reset each of them, and those of the handshake and `tools/list`
 * too if their answer breaks off, the server has no time for them (429, 503), or a gateway has no answer (502, 504).
 * `Retry-After` is heeded, if that leaves time for an answer.
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
    const { body, signal } = init;
    const isFirst =
      typeof body === "string" &&
      mayNameFirst.test(body) &&
      firstMethods.has(safeMethodIn(body) ?? "");
    const send = async (): Promise<Outcome> => {
      try {
        const response = await fetch(input, init);
        if (!isFirst || !response.ok) return { response };
        const reading = (limit: AbortSignal) => breaksOff(response, limit);
        return { response, isCut: await timeLimited(limitMs / 2, signal ?? undefined, reading) };
      } catch (error) {
        return { error };
      }
    };
    const first = await send();
    const isFailed = "error" in first || first.isCut || !first.response.ok;
    // Calls may be long, and take time to parse.
    const method = isFailed || spent.size > 0 ? safeMethodIn(body) : undefined;
    if (method === undefined) return outcomeOf(first);
    // The server is back.
    if (!isFailed) spent.delete(method);
    const asked = pauseAfter(first, method);
    if (asked === undefined || asked > serverLimits.retryAfterMs || spent.has(method))
      return outcomeOf(first);
    const pause = asked + pauseMs * (1 + Math.random());
    if (performance.now() + pause >= endsAt) return outcomeOf(first);
    if ("response" in first) letGo(first.response);
    if (method === "initialize") {
      const headers = new Headers(init.headers);
      headers.delete("content-type");
      endNamed(first, (end) => {
        new Headers(end.headers).forEach((value, name) => headers.set(name, value));
        return fetch(input, { ...init, ...end, headers });
      });
    }
    await wait(pause, signal ?? undefined);
    const second = await send();
    if (pauseAfter(second, method) !== undefined) spent.add(method);
    return outcomeOf(second);
  };
}

type Outcome =
  | { readonly response: Response; readonly isCut?: boolean }
  | { readonly error: unknown };

/** Of messages, in bytes. */
const [longMessage, headLength] = [16_384, 512];

/** Whether it is an answer, or a question, which may stand before the answer. */
function endsReading(event: EventBytes): boolean {
  // Whoever gets a long message parses it.
  const isLong = partsLength(event.parts) > longMessage;
  if (isLong && !partsText(event.parts, 0, headLength).includes('"method"')) return true;
  const message = parseMessage(eventText(event));
  return message !== undefined && "id" in message;
}

/**
 * Whether the connection breaks before an answer has come whole, or a question, and before the limit. It can be read
 * all the same.
 */
async function breaksOff(response: Response, limit: AbortSignal): Promise<boolean> {
  if (response.body === null || response.bodyUsed || response.body.locked) return false;
  const splitter = isEventStream(response) ? createEventSplitter() : undefined;
  const reader = response.clone().body!.getReader();
  try {
    for (let length = 0; length < MAX_MESSAGE_BYTES;) {
      const { done, value } = await abortable(reader.read(), limit);
      if (done || splitter?.push(value).some(endsReading)) break;
      length += value.length;
    }
    return false;
  } catch (error) {
    return !limit.aborted && connectionFailure(error)?.reason === "reset";
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

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
  if (outcome.isCut) return 0;
  const { status, headers } = outcome.response;
  if (!firstMethods.has(method) || ![429, 502, 503, 504].includes(status)) return undefined;
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
