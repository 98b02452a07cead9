import { emptyStream, letGo } from "../wire/read-answer.ts";
import { abortable } from "../base/bounded-wait.ts";
import { bufferAnswer, toResponse } from "../session/buffered-answer.ts";
import type { LiveSession } from "../session/live-session.ts";
import { headersForClient, headersForSession } from "../session/session-headers.ts";
import { liveSession, waitForLive } from "../session/session-life.ts";
import { emptyAnswer } from "../wire/local-answer.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { isEventStream } from "../wire/read-answer.ts";
import { type AnswerStreamOptions, createEventAnswerStream } from "./answer-stream.ts";
import { createListeningStream } from "./listening-stream.ts";
import { type AnswerContext, createRestorer } from "./message-for-client.ts";

/**
 * Sends a client's GET that resumes a stream (`Last-Event-ID`). A lost session's stream cannot be resumed
 * on another session.
 */
export async function resumeStream(
  context: AnswerContext,
  request: OutgoingRequest,
): Promise<Response> {
  const live = liveSession(context.state);
  if (live === undefined) return emptyAnswer(405);
  const headers = headersForSession(request.headers, live);
  const response = await context.send({ ...request, headers });
  if (!isEventStream(response)) return toResponse(await bufferAnswer(response, live));
  const body = streamForClient(context, response.body, {
    session: () => live,
    signal: request.signal,
    resume: () => Promise.resolve(undefined),
    onEnd: () => undefined,
  });
  return new Response(body, { headers: headersForClient(response.headers) });
}

/**
 * Answers a client's GET that listens for server messages. It waits until the session is acknowledged.
 * There is never a second listening stream.
 *
 * The client's stream lasts until the client ends it. Behind it, the server's stream is opened again when
 * it breaks, and the new session's stream is opened after a recovery.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export async function listen(context: AnswerContext, request: OutgoingRequest): Promise<Response> {
  if (context.state.stream.isOpen) return emptyAnswer(405);
  return await abortable(openStream(context, request), request.signal);
}

async function openStream(context: AnswerContext, request: OutgoingRequest): Promise<Response> {
  const { state } = context;
  /** Aborts when the client's stream is over. */
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, ...(request.signal ? [request.signal] : [])]);
  const onEnd = () => {
    state.stream.isOpen = false;
    over.abort("over");
  };
  state.stream.isOpen = true;
  try {
    const live = await waitForLive(state, request.signal);
    const stream = createListeningStream(context, request, live, signal);
    const first = await stream.first();
    const isRefused = !isEventStream(first) && first.status !== 404;
    if (isRefused) {
      const refusal = await bufferAnswer(first, stream.session());
      onEnd();
      return isNoStream(first.status) ? emptyAnswer(405) : toResponse(refusal);
    }
    // A 404 may mean that the session is lost. The next request will show it.
    const opened = isEventStream(first) ? first.body : emptyStream();
    if (!isEventStream(first)) await letGo(first);
    const body = streamForClient(context, opened, {
      session: stream.session,
      signal: request.signal,
      resume: stream.next,
      onEnd,
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  } catch (error) {
    onEnd();
    throw error;
  }
}

/** The server's stream in a form for the client. */
function streamForClient(
  context: AnswerContext,
  body: ReadableStream<Uint8Array>,
  {
    session,
    ...stream
  }: { session: () => LiveSession } & Pick<AnswerStreamOptions, "signal" | "onEnd"> &
    Pick<Parameters<typeof createEventAnswerStream>[0], "resume">,
): ReadableStream<Uint8Array> {
  return createEventAnswerStream({
    ...stream,
    body,
    restorer: createRestorer(context, undefined, session),
    isOpenEnded: true,
    answered: () => true,
    failure: () => "",
  });
}

/** The statuses of servers that have no such stream, or that have one already. */
function isNoStream(status: number): boolean {
  return status === 405 || status === 409;
}
