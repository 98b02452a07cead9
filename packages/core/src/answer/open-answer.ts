import { abortable, anySignal, wait } from "../base/bounded-wait.ts";
import type { SessionContext } from "../session/session-context.ts";
import { outcomeUnknown } from "../session/session-errors.ts";
import { deliverFailure } from "../session/session-slot.ts";
import {
  headersForClient,
  headersForMessage,
  sessionIdHeader,
} from "../session/session-headers.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { type OutgoingRequest, sendToEndpoint } from "../wire/server-endpoint.ts";
import { lastEventIdHeader } from "../wire/event-id.ts";
import { emptyStream, hasContentType, isEventStream, letGo } from "../wire/read-answer.ts";
import type { PendingRequest } from "../wire/request-ids.ts";
import {
  type AnswerStreamOptions,
  createEventAnswerStream,
  createJsonAnswerStream,
  type EventStreamOptions,
} from "./answer-stream.ts";
import type { AnswerTimeout } from "./answer-timeout.ts";
import { createRestorer } from "./restore-answer.ts";

/** A request that the server has begun to answer. */
export interface AnsweredRequest {
  readonly pending: PendingRequest;
  readonly session: LiveSession;
  readonly request: OutgoingRequest;
  readonly timeout: AnswerTimeout;
  /** Runs when the answer is over. */
  readonly settle: () => void;
}

/**
 * Turns the server's 2xx response into the client's. It restores the answer while it arrives, and resumes
 * its stream if that breaks. From here on, a failure is delivered as the answer.
 */
export function openAnswer(
  context: SessionContext,
  response: Response,
  answered: AnsweredRequest,
): Response {
  const { state, ids, url } = context;
  const { pending, session, request, timeout, settle } = answered;
  const { id, method } = pending.request;
  const { status } = response;
  const headers = headersForClient(response.headers);
  const isEvents = hasContentType(response, "text/event-stream");
  // Without a content type it is empty, or JSON from a server that forgot the header.
  const isUntyped = !response.headers.has("content-type") || status === 202 || status === 204;
  if (!isEvents && !hasContentType(response, "application/json") && !isUntyped) {
    settle();
    return new Response(response.body, { status, headers });
  }
  /** Ends a resumption under way when the client cancels the body. */
  const over = new AbortController();
  const options = {
    body: response.body ?? emptyStream(),
    restorer: createRestorer(
      context,
      pending,
      () => session,
      response.headers.get(sessionIdHeader),
    ),
    signal: request.signal,
    giveUp: timeout.signal,
    onChunk: timeout.heard,
    answered: () => ids.find(pending.wireId) === undefined,
    failure(cause: unknown) {
      const error = outcomeUnknown({ method, url, cause }, timeout.silentMs);
      return deliverFailure(state, id, error);
    },
    onEnd() {
      settle();
      // The default reason would be an exception with a stack, made for every answer.
      over.abort("over");
    },
    resume: createResumption(context, answered, over.signal),
  } satisfies AnswerStreamOptions;
  // Clients compare the content type letter by letter. With some statuses, there can be no body.
  headers.set("content-type", isEvents ? "text/event-stream" : "application/json");
  const create = isEvents ? createEventAnswerStream : createJsonAnswerStream;
  try {
    return new Response(create(options), { headers });
  } catch (cause) {
    // The body is not one that can be read.
    options.onEnd();
    headers.set("content-type", "application/json");
    return new Response(options.failure(cause), { headers });
  }
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
function createResumption(
  context: SessionContext,
  { session, request, timeout }: AnsweredRequest,
  over: AbortSignal,
): NonNullable<EventStreamOptions["resume"]> {
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
