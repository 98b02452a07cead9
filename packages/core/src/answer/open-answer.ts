import type { AnswerTimeout } from "./answer-timeout.ts";
import {
  type AnswerStreamOptions,
  createEventAnswerStream,
  createJsonAnswerStream,
} from "./answer-stream.ts";
import { errorMessageText } from "../wire/local-answer.ts";
import type { McpSessionError } from "../base/mcp-session-error.ts";
import { messageForClient } from "./message-for-client.ts";
import type { Notify } from "./notify.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { hasContentType } from "../wire/read-answer.ts";
import type { PendingRequest, RequestIds } from "../wire/request-ids.ts";
import { createAnswerRestorer } from "./restore-answer.ts";
import { createStreamResumption } from "./resume-stream.ts";
import type { SendToEndpoint } from "../wire/server-endpoint.ts";
import type { ServerRequests } from "./server-requests.ts";
import { keepFailure } from "../session/session-failure.ts";
import { headersForClient, headersForMessage } from "../session/session-headers.ts";
import { type LiveSession, sameSession } from "../session/live-session.ts";
import { type SlotState } from "../session/session-slot.ts";
import type { ToolListKeeper } from "../tools/tool-list.ts";

/** A request that the server has begun to answer. */
interface AnsweredRequest {
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
export function createAnswerOpener({
  state,
  send,
  ids,
  tools,
  serverRequests,
  notify,
  answerTimeoutMs,
  outcomeUnknown,
}: {
  state: SlotState;
  send: SendToEndpoint;
  ids: RequestIds;
  tools: ToolListKeeper;
  serverRequests: ServerRequests;
  notify: Notify | undefined;
  answerTimeoutMs: number;
  outcomeUnknown: (method: string, cause: unknown, timeout: AnswerTimeout) => McpSessionError;
}): (response: Response, of: AnsweredRequest) => Response {
  return (response, { pending, session, request, timeout, settle }) => {
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
      body: response.body ?? new ReadableStream({ start: (controller) => controller.close() }),
      restorer: createAnswerRestorer({
        ids,
        pending,
        observe: (message, of) => {
          // What a lost session's stream says of tools is not about the one that took its place.
          if (state.live && sameSession(state.live, session)) tools.observe(message, of);
        },
        reads: ({ request: { method } }) => method === "tools/list",
        toClient: (message) => messageForClient(message, session, serverRequests),
        notify: notify && ((message) => notify(message, session)),
      }),
      signal: request.signal,
      giveUp: timeout.signal,
      onChunk: timeout.heard,
      answered: () => ids.find(pending.wireId) === undefined,
      failure: (cause) => {
        const error = outcomeUnknown(pending.request.method, cause, timeout);
        return errorMessageText(pending.request.id, error, keepFailure(state, error));
      },
      onEnd: () => {
        settle();
        // A reason of our own: the default is an exception with a stack, made for every answer.
        over.abort("over");
      },
    };
    // Clients compare it letter by letter.
    headers.set("content-type", isEvents ? "text/event-stream" : "application/json");
    if (!isEvents) {
      return new Response(createJsonAnswerStream(options), { status: 200, headers });
    }
    const resumption = createStreamResumption(
      (lastEventId, signal) => {
        timeout.heard();
        const resumeHeaders = headersForMessage(request.headers, session);
        resumeHeaders.delete("content-type");
        resumeHeaders.set("accept", "text/event-stream");
        resumeHeaders.set("last-event-id", lastEventId);
        return send({ method: "GET", headers: resumeHeaders, signal, init: request.init });
      },
      [over.signal, timeout.signal],
      answerTimeoutMs,
    );
    const resume: typeof resumption = async (lastEventId, retryMs) => {
      // A break is news from the server too; from here on, so is each attempt.
      if (!timeout.expired) timeout.heard();
      try {
        return await resumption(lastEventId, retryMs);
      } catch (error) {
        if (timeout.expired) return undefined;
        throw error;
      }
    };
    return new Response(createEventAnswerStream({ ...options, resume }), { status, headers });
  };
}
