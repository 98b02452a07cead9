import { abortable, anySignal, wait } from "../base/bounded-wait.ts";
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
  const live = liveSession(context.state);
  if (live === undefined) return emptyAnswer(405);
  const response = await sendOn(context, live, request);
  if (!isEventStream(response)) return toResponse(await bufferAnswer(response, live));
  const restore = createRestorer(context, undefined, () => live);
  const { signal } = request;
  const body = createEventAnswerStream({ body: response.body, restore, signal });
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

/** A stream may be resumed this often in a row without a new event. */
const maxAttempts = 10;

/**
 * Continues an interrupted answer stream: GET with `Last-Event-ID`, after `retry` milliseconds. Returns
 * `undefined` if the server does not offer it, if no header can carry the event's id, if the server asks
 * to wait for longer than `answerMs` (reconnecting earlier is forbidden), or after ten attempts without a
 * new event.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export function createResumption(
  context: SessionContext,
  { session, request, timeout }: AnsweredRequest,
  over: AbortSignal,
): NonNullable<AnswerStreamOptions["resume"]> {
  let attempts = 0;
  let resumedFrom: string | undefined;

  const get = (eventId: string, signal: AbortSignal) => {
    timeout.heard();
    const headers = headersForMessage(request.headers, session);
    headers.delete("content-type");
    headers.set("accept", "text/event-stream");
    headers.set("last-event-id", eventId);
    const init = { method: "GET", headers, signal, init: request.init };
    // Some fetches ignore the signal.
    return abortable(sendToEndpoint(context, init), signal).catch(() => undefined);
  };

  return async (lastEventId, retryMs = 1_000) => {
    // A break counts as news from the server. From here on, so does each attempt.
    if (timeout.silentMs === undefined) timeout.heard();
    if (lastEventId !== resumedFrom) attempts = 0;
    resumedFrom = lastEventId;
    const eventId = lastEventIdHeader(lastEventId);
    if (eventId === undefined || retryMs > context.answerMs) return undefined;
    // It is made here and not for each answer, because few are interrupted, and combining signals
    // is costly.
    const signal = anySignal(over, timeout.signal);
    try {
      while (attempts < maxAttempts) {
        attempts += 1;
        await wait(retryMs, signal);
        const response = await get(eventId, signal);
        signal.throwIfAborted();
        if (isEventStream(response)) return response.body;
        letGo(response);
        if (response !== undefined && response.status < 500) return undefined;
      }
    } catch (error) {
      if (timeout.silentMs === undefined) throw error;
    }
    return undefined;
  };
}

/** Latin-1 without control characters. HTTP would drop white space at the ends, and servers refuse long headers. */
const carriable = /^(?! )[\x20-\x7E\xA0-\xFF]{1,4096}(?<! )$/;

/**
 * The value of the `Last-Event-ID` header: one character for each byte of the id in UTF-8, because a
 * fetch sends each character of a header as one byte. `undefined` for an id that no header can carry. The
 * stream cannot be resumed from it.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header
 */
export function lastEventIdHeader(id: string): string | undefined {
  return carriable.test(id) ? String.fromCharCode(...utf8(id)) : undefined;
}
