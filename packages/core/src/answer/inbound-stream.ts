import { abortable } from "../base/bounded-wait.ts";
import { createEventAnswerStream } from "./answer-stream.ts";
import { bufferAnswer, toResponse } from "../session/buffered-answer.ts";
import { emptyAnswer } from "../wire/local-answer.ts";
import { messageForClient } from "./message-for-client.ts";
import type { Notify } from "./notify.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { hasContentType } from "../wire/read-answer.ts";
import type { RequestIds } from "../wire/request-ids.ts";
import { createAnswerRestorer } from "./restore-answer.ts";
import type { SendToEndpoint } from "../wire/server-endpoint.ts";
import type { ServerRequests } from "./server-requests.ts";
import { headersForClient, headersForSession } from "../session/session-headers.ts";
import { type LiveSession, sameSession } from "../session/live-session.ts";
import { type SlotState, waitForLive } from "../session/session-slot.ts";
import type { ToolListKeeper } from "../tools/tool-list.ts";
import { createUpstream } from "./listening-stream.ts";

/**
 * A client's GET. One that resumes a stream (`Last-Event-ID`) goes out. One that would listen for
 * server messages is answered 405, unless the connection listens: a step is too short for it, and
 * servers with a heartbeat end a session whose stream opened and closed. It waits until the
 * session is acknowledged, and there is never a second one beside it.
 *
 * The client's stream lasts until the client ends it. Behind it, the server's is opened again when
 * it breaks, and opened anew for a session that takes a lost one's place.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export function createInboundStream({
  state,
  send,
  ids,
  tools,
  serverRequests,
  notify,
  listen,
}: {
  state: SlotState;
  send: SendToEndpoint;
  ids: RequestIds;
  tools: ToolListKeeper;
  serverRequests: ServerRequests;
  notify: Notify | undefined;
  listen: boolean;
}): (request: OutgoingRequest) => Promise<Response> {
  /** The server's stream as the client may see it. */
  const toStream = (
    body: ReadableStream<Uint8Array>,
    session: () => LiveSession,
    signal: AbortSignal | undefined,
    next: Parameters<typeof createEventAnswerStream>[0]["resume"],
    onEnd: () => void,
  ) =>
    createEventAnswerStream({
      body,
      restorer: createAnswerRestorer({
        ids,
        pending: undefined,
        observe: (message, request) => {
          // What a lost session's stream says of tools is not about the one in its place.
          if (state.live && sameSession(state.live, session())) tools.observe(message, request);
        },
        reads: (pending) => pending.request.method === "tools/list",
        toClient: (message) => messageForClient(message, session(), serverRequests),
        notify: notify && ((message) => notify(message, session())),
      }),
      signal,
      isOpenEnded: true,
      answered: () => true,
      failure: () => "",
      resume: next,
      onEnd,
    });

  const resumeStream = async (request: OutgoingRequest, live: LiveSession): Promise<Response> => {
    const headers = headersForSession(request.headers, live);
    const response = await send({ ...request, headers });
    if (!isStream(response)) return toResponse(await bufferAnswer(response, live));
    const body = toStream(response.body, () => live, request.signal, endsThere, nothing);
    return new Response(body, { headers: headersForClient(response.headers) });
  };

  const listenForMessages = async (request: OutgoingRequest): Promise<Response> => {
    /** Aborts when the client's stream is over. */
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, ...(request.signal ? [request.signal] : [])]);
    const onEnd = () => {
      state.listening = false;
      over.abort("over");
    };
    state.listening = true;
    try {
      const session = await waitForLive(state, request.signal);
      const upstream = createUpstream({ state, send, request, session, signal });
      const first = await upstream.first();
      const isRefused = !isStream(first) && first.status !== 404;
      if (isRefused) {
        const refusal = await bufferAnswer(first, upstream.session());
        onEnd();
        return isNoStream(first.status) ? emptyAnswer(405) : toResponse(refusal);
      }
      // A 404 may mean that the session is lost, which the next request will tell.
      const opened = isStream(first) ? first.body : emptyStream();
      if (!isStream(first)) await first.body?.cancel();
      const body = toStream(opened, upstream.session, request.signal, upstream.next, onEnd);
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    } catch (error) {
      onEnd();
      throw error;
    }
  };

  return async (request) => {
    if (request.headers.has("last-event-id")) {
      // The stream of a session that is gone cannot be resumed on another.
      return state.live ? await resumeStream(request, state.live) : emptyAnswer(405);
    }
    if (!listen || state.listening) return emptyAnswer(405);
    return await abortable(listenForMessages(request), request.signal);
  };
}

const endsThere = () => Promise.resolve(undefined);
const nothing = () => undefined;

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

function isStream(
  response: Response,
): response is Response & { readonly body: ReadableStream<Uint8Array> } {
  return response.ok && response.body !== null && hasContentType(response, "text/event-stream");
}

/** A server's ways to say that there is no such stream, or one already. */
function isNoStream(status: number): boolean {
  return status === 405 || status === 409;
}
