import { keepFailure } from "../session/session-failure.ts";
import { outcomeUnknown } from "../session/session-errors.ts";
import { headersForClient, headersForMessage } from "../session/session-headers.ts";
import type { LiveSession } from "../session/live-session.ts";
import { errorMessageText } from "../wire/local-answer.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { emptyStream } from "../wire/read-answer.ts";
import { hasContentType } from "../wire/read-answer.ts";
import type { PendingRequest } from "../wire/request-ids.ts";
import {
  type AnswerStreamOptions,
  createEventAnswerStream,
  createJsonAnswerStream,
} from "./answer-stream.ts";
import type { AnswerTimeout } from "./answer-timeout.ts";
import { type AnswerContext, createRestorer } from "./message-for-client.ts";
import { createStreamResumption } from "./resume-stream.ts";

/** A request that the server has begun to answer. */
export interface AnsweredRequest {
  readonly pending: PendingRequest;
  /** Its session. */
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
  context: AnswerContext,
  response: Response,
  answered: AnsweredRequest,
): Response {
  const { state, ids, url } = context;
  const { pending, session, request, timeout, settle } = answered;
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
  const options: AnswerStreamOptions = {
    body: response.body ?? emptyStream(),
    restorer: createRestorer(context, pending, () => session),
    signal: request.signal,
    giveUp: timeout.signal,
    onChunk: timeout.heard,
    answered: () => ids.find(pending.wireId) === undefined,
    failure(cause) {
      const error = outcomeUnknown(pending.request.method, url, cause, timeout.silentMs);
      return errorMessageText(pending.request.id, error, keepFailure(state, error));
    },
    onEnd() {
      settle();
      // The default reason would be an exception with a stack, made for every answer.
      over.abort("over");
    },
  };
  // Clients compare the content type letter by letter.
  headers.set("content-type", isEvents ? "text/event-stream" : "application/json");
  if (!isEvents) return new Response(createJsonAnswerStream(options), { status: 200, headers });
  const resume = resumeAnswer(context, answered, over.signal);
  return new Response(createEventAnswerStream({ ...options, resume }), { status, headers });
}

/** Continues a broken answer stream. */
function resumeAnswer(
  { send, answerMs }: AnswerContext,
  { session, request, timeout }: AnsweredRequest,
  over: AbortSignal,
): ReturnType<typeof createStreamResumption> {
  const get = (lastEventId: string, signal: AbortSignal) => {
    timeout.heard();
    const headers = headersForMessage(request.headers, session);
    headers.delete("content-type");
    headers.set("accept", "text/event-stream");
    headers.set("last-event-id", lastEventId);
    return send({ method: "GET", headers, signal, init: request.init });
  };
  const resumption = createStreamResumption(get, [over, timeout.signal], answerMs);
  return async (lastEventId, retryMs) => {
    // A break counts as news from the server. From here on, so does each attempt.
    if (timeout.silentMs === undefined) timeout.heard();
    try {
      return await resumption(lastEventId, retryMs);
    } catch (error) {
      if (timeout.silentMs !== undefined) return undefined;
      throw error;
    }
  };
}
