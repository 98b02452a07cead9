import { abortable, anySignal, wait } from "../base/bounded-wait.ts";
import { isUsableId } from "../base/server-limits.ts";
import { bufferAnswer, toResponse } from "../session/buffered-answer.ts";
import { sendOn, type SessionContext } from "../session/session-context.ts";
import { headersForClient, headersForMessage } from "../session/session-headers.ts";
import { liveSession } from "../session/session-life.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { emptyAnswer } from "../wire/json-rpc.ts";
import { isEventStream, letGo } from "../wire/read-answer.ts";
import type { PendingRequest } from "../wire/request-ids.ts";
import { type OutgoingRequest, sendToEndpoint } from "../wire/server-endpoint.ts";
import { type AnswerStreamOptions, createEventAnswerStream } from "./answer-stream.ts";
import type { AnswerTimeout } from "./answer-timeout.ts";
import { createRestorer } from "./restore-answer.ts";
import { utf8 } from "../wire/byte-parts.ts";

/**
 * Sends a client's GET that resumes a stream (`Last-Event-ID`). A lost session's stream cannot be resumed
 * on another session.
 */
export async function resumeStream(
  context: SessionContext,
  request: OutgoingRequest,
): Promise<Response> {
  const { lasting } = context;
  const live = liveSession(context.state);
  if (live === undefined) return emptyAnswer(405);
  const opened = lasting?.open(request.headers.get("last-event-id") ?? "");
  const eventId = lasting && lastEventIdHeader(opened?.eventId ?? "");
  if (lasting && eventId === undefined) return emptyAnswer(405);
  if (eventId !== undefined) request.headers.set("last-event-id", eventId);
  const response = await sendOn(context, live, request);
  if (!isEventStream(response)) return toResponse(await bufferAnswer(response, live));
  // Some servers bring what they have sent to other requests, too.
  const { wireId } = context.ids.findByClientId(opened?.requestId) ?? {};
  const restore = createRestorer(context, context.ids.restore(wireId), () => live);
  const { signal } = request;
  const seal = lasting && ((id: string) => lasting.seal(id, opened?.requestId));
  const body = createEventAnswerStream({ body: response.body, restore, seal, signal });
  return new Response(body, { headers: headersForClient(response.headers) });
}

/** A request that the server has begun to answer. */
export interface AnsweredRequest {
  readonly pending: PendingRequest;
  readonly session: LiveSession;
  readonly request: OutgoingRequest;
  readonly timeout: AnswerTimeout;
  /** Runs when the answer is over. */
  readonly settle: () => void;
}

/** A stream may be opened again this often in a row without a new event. */
const maxStreams = 10;
/** Refused resumptions are tried again for this long, in milliseconds: a deploy, or a busy server. */
const refusedMs = 60_000;
/** Refusals below 500 that are for now. */
const busy: readonly unknown[] = [408, 429];

/**
 * The pause before a stream is asked for, in milliseconds: what the server wants (reconnecting earlier is forbidden),
 * and more with each stream that brought no message, and with each refusal.
 */
export function resumptionPauseMs(retryMs: number, streams: number, refusals: number): number {
  const refused = Math.min(Math.max(retryMs, 100) * 2 ** (refusals - 1), 10_000);
  return Math.max(retryMs, refusals === 0 ? Math.min(25 * streams, 1_000) : refused);
}

/**
 * Continues an interrupted answer stream: GET with `Last-Event-ID`, after `retry` milliseconds. Returns
 * `undefined` if the server does not offer it, if no header can carry the event's id, if the server asks
 * to wait for longer than `answerMs`, after ten streams without a new event, or after a minute of refusals. A stream
 * without a message is no news: `answerMs` ends the resumptions of a server that only has event ids.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export function createResumption(
  context: SessionContext,
  { session, request, timeout }: AnsweredRequest,
  over: AbortSignal,
): NonNullable<AnswerStreamOptions["resume"]> {
  let { heardAt } = timeout;
  let resumedFrom: string | undefined;
  /** The streams since the last message, and those since the last new event. */
  let streams = 0;
  let sameEvent = 0;

  const get = (eventId: string, signal: AbortSignal) => {
    const headers = headersForMessage(request.headers, session);
    headers.delete("content-type");
    headers.set("accept", "text/event-stream");
    headers.set("last-event-id", eventId);
    const init = { method: "GET", headers, signal, init: request.init };
    // Some fetches ignore the signal.
    return abortable(sendToEndpoint(context, init), signal).catch(() => undefined);
  };

  return async (lastEventId, retryMs = 1_000) => {
    if (heardAt !== timeout.heardAt) streams = 0;
    ({ heardAt } = timeout);
    if (lastEventId !== resumedFrom) sameEvent = 0;
    resumedFrom = lastEventId;
    const eventId = lastEventIdHeader(lastEventId);
    if (eventId === undefined || retryMs > context.answerMs) return undefined;
    if (sameEvent === maxStreams) return undefined;
    // It is made here and not for each answer, because few are interrupted, and combining signals
    // is costly.
    const signal = anySignal(over, timeout.signal);
    let refusals = 0;
    let refusedAt: number | undefined;
    try {
      while (performance.now() - (refusedAt ?? Infinity) < refusedMs) {
        await wait(resumptionPauseMs(retryMs, streams, refusals), signal);
        const response = await get(eventId, signal);
        signal.throwIfAborted();
        if (isEventStream(response)) {
          streams += 1;
          sameEvent += 1;
          return response.body;
        }
        letGo(response);
        const { status = 0 } = response ?? {};
        if (status > 0 && status < 500 && !busy.includes(status)) return undefined;
        refusals += 1;
        refusedAt ??= performance.now();
      }
    } catch (error) {
      if (timeout.silentMs === undefined) throw error;
    }
    return undefined;
  };
}

/**
 * The value of the `Last-Event-ID` header: one character for each byte of the id in UTF-8, because a
 * fetch sends each character of a header as one byte. `undefined` for an id that no header can carry. The
 * stream cannot be resumed from it.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header
 */
export function lastEventIdHeader(id: string): string | undefined {
  return isUsableId(id) ? String.fromCharCode(...utf8(id)) : undefined;
}
