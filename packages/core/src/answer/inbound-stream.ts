import { abortable } from "../base/bounded-wait.ts";
import { bufferAnswer, toResponse } from "../session/buffered-answer.ts";
import { sendOn, type SessionContext } from "../session/session-context.ts";
import { headersForClient } from "../session/session-headers.ts";
import { type LiveSession, liveSession, waitForLive } from "../session/session-life.ts";
import { emptyAnswer } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import { emptyStream, isEventStream, letGo } from "../wire/read-answer.ts";
import { createEventAnswerStream, type ResumeStream } from "./answer-stream.ts";
import { createListeningStream } from "./listening-stream.ts";
import { createRestorer } from "./message-for-client.ts";

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
  const body = streamForClient(
    context,
    response.body,
    request.signal,
    () => live,
    async () => undefined,
    () => undefined,
  );
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
export async function listen(context: SessionContext, request: OutgoingRequest): Promise<Response> {
  if (context.state.stream.isOpen) return emptyAnswer(405);
  return await abortable(openStream(context, request), request.signal);
}

async function openStream(context: SessionContext, request: OutgoingRequest): Promise<Response> {
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
    const { status } = first;
    if (!isEventStream(first) && status !== 404) {
      const refusal = await bufferAnswer(first, stream.session());
      onEnd();
      // The server has no such stream, or has one already.
      return status === 405 || status === 409 ? emptyAnswer(405) : toResponse(refusal);
    }
    // A 404 may mean that the session is lost. The next request will show it.
    const opened = isEventStream(first) ? first.body : emptyStream();
    if (!isEventStream(first)) await letGo(first);
    const { session, next } = stream;
    const body = streamForClient(context, opened, request.signal, session, next, onEnd);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  } catch (error) {
    onEnd();
    throw error;
  }
}

/** The server's stream in a form for the client. */
function streamForClient(
  context: SessionContext,
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  session: () => LiveSession,
  resume: ResumeStream,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  return createEventAnswerStream({
    body,
    signal,
    resume,
    onEnd,
    restorer: createRestorer(context, undefined, session),
    isOpenEnded: true,
    answered: () => true,
    failure: () => "",
  });
}
