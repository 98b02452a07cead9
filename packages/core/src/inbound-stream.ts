import { createEventAnswerStream } from "./answer-stream.ts";
import { bufferAnswer, toResponse } from "./buffered-answer.ts";
import { emptyAnswer } from "./local-answer.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import { hasContentType } from "./read-answer.ts";
import type { RequestIds } from "./request-ids.ts";
import { createAnswerRestorer } from "./restore-answer.ts";
import type { SendToEndpoint } from "./server-endpoint.ts";
import { headersForClient, headersForSession } from "./session-headers.ts";
import { type SlotState, waitForLive } from "./session-slot.ts";
import type { ToolListKeeper } from "./tool-list.ts";

/**
 * A client's GET. One that resumes a stream (`Last-Event-ID`) goes out. One that would listen for
 * server messages is answered 405, unless the connection listens: a step is too short for it, and
 * servers with a heartbeat end a session whose stream opened and closed. It waits until the
 * session is acknowledged, and there is never a second one beside it.
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
  const get = async (request: OutgoingRequest, onEnd: () => void): Promise<Response> => {
    const live = await waitForLive(state, request.signal);
    const response = await send({ ...request, headers: headersForSession(request.headers, live) });
    if (!response.ok) {
      onEnd();
      return toResponse(await bufferAnswer(response, live));
    }
    const headers = headersForClient(response.headers);
    const { status } = response;
    if (!response.body || !hasContentType(response, "text/event-stream")) {
      onEnd();
      return new Response(response.body, { status, headers });
    }
    const body = createEventAnswerStream({
      body: response.body,
      restorer: createAnswerRestorer({
        ids,
        pending: undefined,
        observe: tools.observe,
        reads: (pending) => pending.request.method === "tools/list",
        sessionId: live.kind === "session" ? live.sessionId : undefined,
      }),
      signal: request.signal,
      isOpenEnded: true,
      answered: () => true,
      failure: () => "",
      resume: async () => undefined,
      onEnd,
    });
    return new Response(body, { status, headers });
  };

  return async (request) => {
    if (request.headers.has("last-event-id")) {
      // The stream of a session that is gone cannot be resumed on another.
      return state.live ? await get(request, () => undefined) : emptyAnswer(405);
    }
    if (!listen || state.listening) return emptyAnswer(405);
    state.listening = true;
    const stop = () => {
      state.listening = false;
    };
    try {
      const response = await get(request, stop);
      if (response.ok || isWorthReporting(response.status)) return response;
      await response.body?.cancel();
      return emptyAnswer(405);
    } catch (error) {
      stop();
      throw error;
    }
  };
}

/** 404, 405 and 409 are a server's ways to say that there is no such stream, or one already. */
function isWorthReporting(status: number): boolean {
  return status !== 404 && status !== 405 && status !== 409;
}
