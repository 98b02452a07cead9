import { keepFailure } from "../session/session-failure.ts";
import { outcomeUnknown } from "../session/session-errors.ts";
import { headersForClient, headersForMessage } from "../session/session-headers.ts";
import type { LiveSession } from "../session/live-session.ts";
import { errorMessageText } from "../wire/local-answer.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { emptyStream } from "../wire/read-text.ts";
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
  /** The session that it was sent on. */
  readonly session: LiveSession;
  readonly request: OutgoingRequest;
  readonly timeout: AnswerTimeout;
  /** Runs when nothing more of the answer is to come. */
  readonly settle: () => void;
}

/**
 * Makes the client's response of the server's, which was 2xx: restores the answer as it comes, and
 * resumes its stream when that breaks. A failure from here on is delivered as the answer.
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
  // Without a content type it is empty, or JSON of a server that forgot to say so.
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
      // A reason of our own: the default is an exception with a stack, made for every answer.
      over.abort("over");
    },
  };
  // Clients compare it letter by letter.
  headers.set("content-type", isEvents ? "text/event-stream" : "application/json");
  if (!isEvents) return new Response(createJsonAnswerStream(options), { status: 200, headers });
  const resume = resumeAnswer(context, answered, over.signal);
  return new Response(createEventAnswerStream({ ...options, resume }), { status, headers });
}

/** How the stream of an answer goes on when it breaks. */
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
    // A break is news from the server too; from here on, so is each attempt.
    if (timeout.silentMs === undefined) timeout.heard();
    try {
      return await resumption(lastEventId, retryMs);
    } catch (error) {
      if (timeout.silentMs !== undefined) return undefined;
      throw error;
    }
  };
}
