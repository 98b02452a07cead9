import { abortable, timeLimited } from "../../base/bounded-wait.ts";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { randomToken } from "../../base/random-token.ts";
import { isTooDeep, isUsableId } from "../../base/server-limits.ts";
import { refusesUnprocessed } from "../../session/lost-session.ts";
import {
  connectionBroke,
  failed,
  type Failed,
  outcomeUnknown,
} from "../../session/session-errors.ts";
import { mayHaveRun } from "../../wire/connection-failure.ts";
import { createEventSplitter, eventText } from "../../wire/event-splitter.ts";
import {
  isRequest,
  type JsonRpcMessage,
  type JsonRpcResponse,
  parseMessages,
} from "../../wire/json-rpc.ts";
import {
  answerIn,
  isEventStream,
  letGo,
  MAX_MESSAGE_BYTES,
  readAnswer,
  readRefusal,
} from "../../wire/read-answer.ts";
import { sendToEndpoint } from "../../wire/server-endpoint.ts";
import { areRequests, type InputResponses, isSafeQuestion } from "../questions/input-request.ts";
import { gateStatuses, legRefused, type LegOptions, type LegOutcome } from "./send-leg.ts";
import type { Question } from "../record/waiting-life.ts";
import type { Held } from "../record/held.ts";
import type { WaitingRecord } from "../record/waiting-record.ts";

/** What requests about a call need. */
export type KeptCall = Pick<
  WaitingRecord,
  "id" | "url" | "request" | "requests" | "held" | "unsure" | "expiresAt"
>;

/** How a call goes on that its server keeps. Nothing here rejects. */
export interface HeldWay<HELD extends Held> {
  /** Sees how the call is. It changes nothing at the server. */
  look(call: KeptCall, held: HELD, leg: LegOptions): Promise<LegOutcome>;
  /** Answers all of its questions. An answer of which nobody knows whether it came goes out again, also in looks. */
  answer(
    call: KeptCall,
    held: HELD,
    responses: InputResponses,
    leg: LegOptions,
  ): Promise<LegOutcome>;
  /** Asks the server to stop. Best effort. */
  cancel(call: KeptCall, held: HELD, leg: LegOptions): Promise<void>;
}

/** A request about a call that its server keeps: it goes to the call's own URL, and on its own session. */
interface AboutCall {
  readonly httpMethod?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The JSON-RPC message, without its `jsonrpc`. */
  readonly message?: object;
}

/** Why a request about a call has no answer: `unsure` if nobody knows whether the server has got it. */
export type Missing =
  | Extract<LegOutcome, { readonly type: "not-sent" | "unknown" }>
  | { readonly type: "unsure"; readonly error: unknown };

/** An answer of the server with its HTTP status below 300, or the reason why there is none. */
type Sent = { readonly response: Response } | { readonly outcome: Missing };

/** The end of a call whose server knows nothing of it any more. */
export function fateUnknown(
  { url, request: { method } }: KeptCall,
  cause?: unknown,
): Extract<LegOutcome, { readonly type: "unknown" }> {
  return {
    type: "unknown",
    error: outcomeUnknown({ method, url: new URL(url), cause }, undefined),
  };
}

/** A look changes nothing, so one that was perhaps not made is made again. */
export function laterIfUnsure(
  { url, request: { method } }: KeptCall,
  outcome: Missing,
): LegOutcome {
  if (outcome.type !== "unsure") return outcome;
  const { error: cause } = outcome;
  if (!McpSessionError.isInstance(cause)) return { type: "not-sent", error: cause };
  const { status, reason = status === undefined ? "not-mcp" : "refused" } = cause.data;
  const why = "nobody knows how the call is. It still waits; try again.";
  const request = { method, url: new URL(url), status, cause };
  return { type: "not-sent", error: failed("CONNECTION_UNAVAILABLE", request, why, reason) };
}

/** The headers of a call that all requests about it repeat. */
const ofCall = new Set(["mcp-session-id", "mcp-protocol-version"]);

/** What a look may take, in milliseconds. */
const limitMs = 30_000;

/** Sends a request about a held call. Never rejects. */
export async function sendAbout(
  call: KeptCall,
  { httpMethod = "POST", headers: own, message }: AboutCall,
  { fetch, signal }: LegOptions,
): Promise<Sent> {
  if (signal?.aborted) return { outcome: { type: "not-sent", error: signal.reason } };
  const { request } = call;
  const url = new URL(call.url);
  const failure: Failed = { method: request.method, url };
  const recorded = Object.entries(request.headers).filter(([name]) => ofCall.has(name));
  const headers = new Headers(recorded);
  headers.set("accept", message ? "application/json, text/event-stream" : "text/event-stream");
  if (message) headers.set("content-type", "application/json");
  for (const [name, value] of Object.entries(own ?? {})) headers.set(name, value);
  const body = message && JSON.stringify({ jsonrpc: "2.0", ...message });
  try {
    const response = await timeLimited(limitMs, signal, async (bounded) => {
      // Its end would be that of the answer's stream, too.
      const sending = sendToEndpoint({ url, fetch }, { method: httpMethod, headers, body, signal });
      return await abortable(sending, bounded);
    });
    if (response.ok) return { response };
    const { status } = response;
    const refused = { ...failure, status };
    const text = await readRefusal(response);
    const isUnprocessed = refusesUnprocessed({ status, body: text });
    if (mayHaveRun(status, response.headers) && !isUnprocessed)
      return { outcome: { type: "unsure", error: outcomeUnknown(refused, undefined) } };
    // Another reader has the stream, or what stands before the server refuses it for now.
    const isForNow = gateStatuses.has(status) || status === 409;
    if (isForNow && !isUnprocessed)
      return { outcome: { type: "not-sent", error: legRefused(refused) } };
    const rpc = message && "id" in message && answerIn(text, String(message.id));
    return rpc ? { response: Response.json(rpc) } : { outcome: fateUnknown(call) };
  } catch (cause) {
    const error = signal?.aborted ? signal.reason : connectionBroke({ ...failure, cause });
    const isOurs = McpSessionError.isInstance(error) && !signal?.aborted;
    // A server may answer with a redirect what it has taken.
    const isKnown = isOurs && error.code !== "OUTCOME_UNKNOWN" && error.data.reason !== "redirect";
    return { outcome: { type: isKnown ? "not-sent" : "unsure", error } };
  }
}

/** Sends a request about a held call, and reads its answer. Never rejects. */
export async function askAbout(
  call: KeptCall,
  method: string,
  params: object,
  leg: LegOptions,
  headers?: Readonly<Record<string, string>>,
): Promise<{ readonly answer: JsonRpcResponse } | { readonly outcome: Missing }> {
  const id = randomToken();
  const sent = await sendAbout(call, { headers, message: { id, method, params } }, leg);
  if ("outcome" in sent) return sent;
  const answer = await timeLimited(limitMs, leg.signal, (signal) =>
    abortable(readAnswer(sent.response, id), signal),
  ).catch(() => undefined);
  if (isTooDeep(answer)) return { outcome: fateUnknown(call) };
  if (answer !== undefined) return { answer };
  return { outcome: { ...fateUnknown(call), type: "unsure" } };
}

interface HearOptions {
  readonly signal?: AbortSignal | undefined;
  /** Runs for each id of an event that does not have what is looked for: from there it comes again. */
  readonly onEvent?: ((eventId: string) => Promise<void>) | undefined;
}

/** What a stream has said until it ended, the time was up, or it had what was looked for. */
export interface Heard<T> {
  readonly found?: T | undefined;
  /** The id of the last event that was read; `undefined` if none had one. */
  readonly eventId?: string | undefined;
  /** After what time the server wants to be asked again, in milliseconds. */
  readonly retryMs?: number | undefined;
}

/**
 * Reads the messages of an answer, for `ms` milliseconds at most.
 *
 * @param take gives what is looked for, if a message has it
 */
export async function hear<T>(
  response: Response,
  ms: number,
  take: (message: JsonRpcMessage) => T | undefined,
  { signal, onEvent }: HearOptions = {},
): Promise<Heard<T>> {
  // What a server asks in an event that is cut off comes again: the event's id does not count.
  const find = (text: string, isCutOff: boolean) =>
    (parseMessages(text)?.messages ?? [])
      .map((message) => (isCutOff && "method" in message ? undefined : take(message)))
      .find((found) => found !== undefined);
  if (!isEventStream(response)) {
    letGo(response);
    return {};
  }
  const splitter = createEventSplitter();
  const reader = response.body.getReader();
  let found: T | undefined;
  let eventId: string | undefined;
  await timeLimited(ms, signal, async (bounded) => {
    while (found === undefined && splitter.pendingBytes <= MAX_MESSAGE_BYTES) {
      const { done, value } = await abortable(reader.read(), bounded);
      const events = done ? [splitter.finish()] : splitter.push(value);
      for (const event of events) {
        if (event === undefined || found !== undefined) break;
        found = find(eventText(event), done);
        // From another nobody could go on.
        if (!event.id || event.id === eventId || !isUsableId(event.id)) continue;
        eventId = event.id;
        if (found === undefined) await onEvent?.(eventId);
      }
      if (done) break;
    }
  }).catch(() => undefined);
  void reader.cancel().catch(() => undefined);
  return { found, eventId, retryMs: splitter.retryMs };
}

/** A question that a server asks on a session, as its waiting call has it; `undefined` for any other message. */
export function askedIn(message: JsonRpcMessage): Question | undefined {
  if (!isRequest(message) || message.method !== "elicitation/create") return undefined;
  const { id, method, params } = message;
  // The key gives the id back, of its own type.
  const requests = { [JSON.stringify(id)]: { method, params } };
  return areRequests(requests) && isSafeQuestion({ params }) ? { requests } : undefined;
}
