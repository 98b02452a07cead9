import { createEventAnswerStream } from "./answer-stream.ts";
import { bufferAnswer, toResponse } from "./buffered-answer.ts";
import { emptyAnswer } from "./local-answer.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import { hasContentType } from "./read-answer.ts";
import type { RequestIds } from "./request-ids.ts";
import { createAnswerRestorer } from "./restore-answer.ts";
import type { SendToEndpoint } from "./server-endpoint.ts";
import { headersForClient, headersForSession } from "./session-headers.ts";
import { type LiveSession, sameSession, type SlotState, waitForLive } from "./session-slot.ts";
import type { ToolListKeeper } from "./tool-list.ts";
import { wait } from "./wait.ts";

/** How long to wait, in milliseconds, while the stream of the step before still closes. */
const conflictDelaysMs = [50, 100, 200, 400];

/**
 * A client's GET. One that resumes a stream (`Last-Event-ID`) goes out. One that would listen for
 * server messages is answered 405, unless the connection listens: a step is too short for it, and
 * servers with a heartbeat end a session whose stream opened and closed. It waits until the
 * session is acknowledged, there is never a second one beside it, and it goes on with the session
 * that takes a lost one's place. Requests wait while it is being opened, so that the server can
 * ask back from the first call on.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export function createInboundStream({
  state,
  send,
  ids,
  tools,
  listen,
}: {
  state: SlotState;
  send: SendToEndpoint;
  ids: RequestIds;
  tools: ToolListKeeper;
  listen: boolean;
}): (request: OutgoingRequest) => Promise<Response> {
  const get = (request: OutgoingRequest, session: LiveSession, signal = request.signal) =>
    send({ ...request, headers: headersForSession(request.headers, session), signal });

  /** The answer for the client: a refusal, or a stream that `next` continues. */
  const toAnswer = async (
    response: Response,
    session: LiveSession,
    signal: AbortSignal | undefined,
    next: () => Promise<ReadableStream<Uint8Array> | undefined>,
    onEnd: () => void,
  ): Promise<Response> => {
    const { status, body } = response;
    const headers = headersForClient(response.headers);
    if (!response.ok || body === null || !hasContentType(response, "text/event-stream")) {
      const refusal = await bufferAnswer(response, session);
      onEnd();
      return toResponse(refusal);
    }
    const restorer = createAnswerRestorer({
      ids,
      pending: undefined,
      observe: tools.observe,
      reads: (pending) => pending.request.method === "tools/list",
      sessionId: session.kind === "session" ? session.sessionId : undefined,
    });
    const stream = createEventAnswerStream({
      body,
      restorer,
      signal,
      isOpenEnded: true,
      answered: () => true,
      failure: () => "",
      resume: next,
      onEnd,
    });
    return new Response(stream, { status, headers });
  };

  const listenForMessages = async (request: OutgoingRequest): Promise<Response> => {
    /** Aborts when the client's stream is over. */
    const over = new AbortController();
    const signals = [over.signal, ...(request.signal ? [request.signal] : [])];
    let upstream = new AbortController();
    let following: Promise<ReadableStream<Uint8Array> | undefined> | undefined;

    const open = (session: LiveSession): Promise<Response> => {
      upstream = new AbortController();
      const signal = AbortSignal.any([...signals, upstream.signal]);
      const opening = withoutConflict(() => get(request, session, signal), signal);
      holdRequests(state, opening);
      return opening;
    };
    const follow = (current: LiveSession) => (live: LiveSession) => {
      if (over.signal.aborted) return;
      state.liveListeners.add(follow(live));
      if (sameSession(live, current)) return;
      upstream.abort("The session was replaced.");
      following = open(live).then(
        ({ ok, body }) => (ok && body !== null ? body : undefined),
        () => undefined,
      );
    };
    const onEnd = () => {
      state.listening = false;
      over.abort("over");
    };

    state.listening = true;
    try {
      const session = await waitForLive(state, request.signal);
      const opening = open(session);
      state.liveListeners.add(follow(session));
      const next = async () => {
        const continued = await following;
        following = undefined;
        return continued;
      };
      return await toAnswer(await opening, session, request.signal, next, onEnd);
    } catch (error) {
      onEnd();
      throw error;
    }
  };

  return async (request) => {
    if (request.headers.has("last-event-id")) {
      // The stream of a session that is gone cannot be resumed on another.
      const { live } = state;
      if (live === undefined) return emptyAnswer(405);
      const response = await get(request, live);
      return await toAnswer(response, live, request.signal, endsThere, () => undefined);
    }
    if (!listen || state.listening) return emptyAnswer(405);
    const response = await listenForMessages(request);
    return isNoStream(response.status) ? emptyAnswer(405) : response;
  };
}

const endsThere = () => Promise.resolve(undefined);

/** A server's ways to say that there is no such stream, or one already. */
function isNoStream(status: number): boolean {
  return status === 404 || status === 405 || status === 409;
}

/** Tries again while the server answers that there is such a stream already. */
async function withoutConflict(
  get: () => Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  for (const delayMs of conflictDelaysMs) {
    const response = await get();
    if (response.status !== 409) return response;
    await response.body?.cancel();
    await wait(delayMs, signal);
  }
  return await get();
}

function holdRequests(state: SlotState, opening: Promise<Response>): void {
  const settle = () => {
    if (state.listenOpening === settled) state.listenOpening = undefined;
  };
  const settled: Promise<void> = opening.then(settle, settle);
  state.listenOpening = settled;
}
