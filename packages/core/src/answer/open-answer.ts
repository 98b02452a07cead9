import type { Answer, SessionContext } from "../session/session-context.ts";
import { outcomeUnknown } from "../session/session-errors.ts";
import { deliverFailure } from "../session/session-slot.ts";
import { headersForClient, sessionIdHeader } from "../session/session-headers.ts";
import { type JsonRpcMessage, type JsonRpcResponse, UnusableAnswer } from "../wire/json-rpc.ts";
import { emptyStream, hasContentType } from "../wire/read-answer.ts";
import { type AnswerSource, readToEnd } from "./answer-source.ts";
import { type AnswerStreamOptions, readEventAnswer, readJsonAnswer } from "./answer-stream.ts";
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
): Answer | Promise<Answer> {
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
  let taken: JsonRpcResponse | undefined;
  const { take: takeOther } = request;
  const take =
    takeOther &&
    ((message: JsonRpcMessage) => {
      if ("method" in message) takeOther(message);
      else taken ??= message;
    });
  const options = {
    body: response.body ?? emptyStream(),
    restore: createRestorer(
      context,
      pending,
      () => session,
      response.headers.get(sessionIdHeader),
      isEvents,
      take,
    ),
    signal: request.signal,
    timeout,
    isTaken: () => taken !== undefined,
    answered: () => ids.find(pending.wireId) === undefined,
    failure(cause: unknown) {
      const error = outcomeUnknown({ method, url, cause }, timeout.silentMs);
      const delivered = deliverFailure(state, id, error);
      take?.(JSON.parse(delivered));
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
  let source: AnswerSource;
  try {
    source = (isEvents ? readEventAnswer : readJsonAnswer)(options);
  } catch (cause) {
    // The body is not one that can be read.
    options.onEnd();
    const failure = options.failure(cause);
    return taken ?? answerWith(failure, response, "application/json");
  }
  if (take) {
    return readToEnd(source, options.isTaken).then(() => {
      if (taken === undefined) options.failure(new UnusableAnswer());
      return taken!;
    });
  }
  const body = new ReadableStream(source);
  return answerWith(body, response, isEvents ? "text/event-stream" : "application/json");
}

/** The client's answer with these bytes. With some statuses, there can be no body. */
function answerWith(body: BodyInit, { headers }: Response, contentType: string): Response {
  // Not the answer's own: where @hono/node-server serves, they are the server's, and cannot be changed.
  const own = headersForClient(headers);
  // Clients compare the content type letter by letter.
  own.set("content-type", contentType);
  return new Response(body, { headers: own });
}
