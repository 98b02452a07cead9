import type { SessionContext } from "../session/session-context.ts";
import { outcomeUnknown } from "../session/session-errors.ts";
import { deliverFailure } from "../session/session-slot.ts";
import { headersForClient, sessionIdHeader } from "../session/session-headers.ts";
import { emptyStream, hasContentType } from "../wire/read-answer.ts";
import {
  type AnswerStreamOptions,
  createEventAnswerStream,
  createJsonAnswerStream,
} from "./answer-stream.ts";
import { createRestorer } from "./restore-answer.ts";
import { type AnsweredRequest, createResumption } from "./resume-stream.ts";

/**
 * Turns the server's 2xx response into the client's. It restores the answer while it arrives, and resumes
 * its stream if that breaks. From here on, a failure is delivered as the answer.
 */
export function openAnswer(
  context: SessionContext,
  response: Response,
  answered: AnsweredRequest,
): Response {
  const { state, ids, url, lasting } = context;
  const { pending, session, request, timeout, settle } = answered;
  const { id, method } = pending.request;
  const { status } = response;
  const isEvents = hasContentType(response, "text/event-stream");
  // Without a content type it is empty, or JSON from a server that forgot the header.
  const isUntyped = !response.headers.has("content-type") || status === 202 || status === 204;
  if (!isEvents && !hasContentType(response, "application/json") && !isUntyped) {
    settle();
    return new Response(response.body, { status, headers: headersForClient(response.headers) });
  }
  /** Ends a resumption under way when the client cancels the body. */
  let over: AbortController | undefined;
  let resume: AnswerStreamOptions["resume"];
  const options = {
    body: response.body ?? emptyStream(),
    restore: createRestorer(
      context,
      pending,
      () => session,
      response.headers.get(sessionIdHeader),
      isEvents,
    ),
    signal: request.signal,
    timeout,
    answered: () => ids.find(pending.wireId) === undefined,
    failure(cause: unknown) {
      const error = outcomeUnknown({ method, url, cause }, timeout.silentMs);
      const delivered = deliverFailure(state, id, error);
      if (lasting === undefined) return delivered;
      return JSON.stringify(lasting.answer(JSON.parse(delivered), pending.request));
    },
    seal: lasting && ((eventId: string) => lasting.seal(eventId, id)),
    onEnd() {
      settle();
      over?.abort("over");
    },
    // It is made for the few answers that are interrupted, because its parts are costly.
    async resume(...from) {
      over ??= new AbortController();
      resume ??= createResumption(context, answered, over.signal);
      return await resume?.(...from);
    },
  } satisfies AnswerStreamOptions;
  const create = isEvents ? createEventAnswerStream : createJsonAnswerStream;
  try {
    return answerWith(
      create(options),
      response,
      isEvents ? "text/event-stream" : "application/json",
    );
  } catch (cause) {
    // The body is not one that can be read.
    options.onEnd();
    return answerWith(options.failure(cause), response, "application/json");
  }
}

/** The client's answer with these bytes. With some statuses, there can be no body. */
function answerWith(body: BodyInit, { headers }: Response, contentType: string): Response {
  // Not the answer's own: where @hono/node-server serves, they are the server's, and cannot be changed.
  const own = headersForClient(headers);
  // Clients compare the content type letter by letter.
  own.set("content-type", contentType);
  return new Response(body, { headers: own });
}
