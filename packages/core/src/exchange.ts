import { abortable } from "./abortable.ts";
import {
  type AnswerStreamOptions,
  createEventAnswerStream,
  createJsonAnswerStream,
} from "./answer-stream.ts";
import {
  bufferAnswer,
  type BufferedAnswer,
  isAuthOrOutage,
  toResponse,
  toResponseFor,
} from "./buffered-answer.ts";
import { type Handshake, sessionLost, sessionRefused } from "./handshake.ts";
import { isRequest, type JsonRpcMessage, type JsonRpcRequest } from "./json-rpc.ts";
import { emptyAnswer, errorMessageText } from "./local-answer.ts";
import { McpSessionError } from "./mcp-session-error.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import { hasContentType } from "./read-answer.ts";
import type { PendingRequest, RequestIds } from "./request-ids.ts";
import { maySendAgain, type ResendPolicy } from "./resend-policy.ts";
import { createAnswerRestorer } from "./restore-answer.ts";
import { createStreamResumption } from "./resume-stream.ts";
import { keepFailure } from "./session-failure.ts";
import { messageForClient } from "./message-for-client.ts";
import type { SendOwnMessage } from "./own-message.ts";
import type { SendToEndpoint } from "./server-endpoint.ts";
import type { ServerRequests } from "./server-requests.ts";
import type { EmitSessionEvent } from "./session-event.ts";
import { headersForClient, headersForMessage, headersForSession } from "./session-headers.ts";
import { compareAndClear, type LiveSession, sameSession, type SlotState } from "./session-slot.ts";
import type { ToolListKeeper } from "./tool-list.ts";

/**
 * Sends a client's message on the session and restores its answer. A request that meets a lost
 * session is sent again, once, on the one that takes its place: it was refused unprocessed.
 */
export function createExchange({
  state,
  url,
  send,
  sendOwn,
  ids,
  tools,
  serverRequests,
  handshake,
  emit,
  cancelOnAbort,
  resend,
  isSafeToResend,
  recover,
}: {
  state: SlotState;
  url: URL;
  send: SendToEndpoint;
  sendOwn: SendOwnMessage;
  ids: RequestIds;
  tools: ToolListKeeper;
  serverRequests: ServerRequests;
  handshake: Handshake;
  emit: EmitSessionEvent;
  cancelOnAbort: boolean | (() => boolean);
  resend: ResendPolicy;
  isSafeToResend: ((request: JsonRpcRequest) => boolean) | undefined;
  recover: boolean;
}): (message: JsonRpcMessage, request: OutgoingRequest) => Promise<Response> {
  const lose = (session: LiveSession, method: string, status: number) => {
    if (compareAndClear(state, session)) emit({ type: "lost", method, status });
  };

  /** A client's answer to the server, or a notification: nobody waits for what comes back. */
  const sendOneWay = async (message: JsonRpcMessage, request: OutgoingRequest) => {
    const session = state.live;
    if (session === undefined) return emptyAnswer(202);
    const outgoing =
      "method" in message ? withWireIds(message, ids) : serverRequests.answer(message, session);
    if (outgoing === undefined) return emptyAnswer(202);
    const response = await send({
      ...request,
      headers: headersForSession(request.headers, session),
      body: JSON.stringify(outgoing),
    });
    if (!response.ok) {
      const answer = await bufferAnswer(response, session);
      if (answer.loss === "none") return toResponse(answer);
      // It was about the lost session; the next request makes a new one.
      lose(session, "method" in message ? message.method : "response", answer.status);
      return emptyAnswer(202);
    }
    const { status } = response;
    return new Response(response.body, { status, headers: headersForClient(response.headers) });
  };

  const sendRequest = async (
    message: JsonRpcRequest,
    request: OutgoingRequest,
    /** How the first attempt ended, when this is the second. */
    earlier?: BufferedAnswer,
  ): Promise<Response> => {
    const { method } = message;
    if (!recover && state.live === undefined && state.lost !== undefined) {
      throw notSentAgain(method, "definite");
    }
    const ensured = await handshake.ensure(request, request.signal);
    if ("refused" in ensured) {
      // Anything else a client would take for the answer of an old server.
      if (isAuthOrOutage(ensured.refused)) return toResponseFor(message.id, ensured.refused);
      if (earlier?.loss === "probable") throw notSentAgain(method, "probable", earlier.status);
      throw sessionRefused(state, method, url, ensured.refused.status);
    }
    const session = ensured.live;
    if (state.listenOpening) await abortable(state.listenOpening, request.signal);
    const sent = ids.send(message);
    let refusal: BufferedAnswer;
    const stopCancelling = cancelWhenAborted(sent.pending, session, request);
    const settle = () => {
      ids.settle(sent.pending);
      stopCancelling();
    };
    try {
      const response = await send({
        ...request,
        headers: headersForSession(request.headers, session),
        body: JSON.stringify(sent.message),
      });
      if (response.ok) return openAnswer(response, sent.pending, session, request, settle);
      const answer = await bufferAnswer(response, session);
      settle();
      if (answer.loss === "none") return toResponseFor(message.id, answer);
      const isSentAgain = maySendAgain(message, answer.loss, resend, isSafeToResend);
      lose(session, method, answer.status);
      // One attempt that may have been processed makes the outcome unknown, whatever the other was.
      const loss = earlier?.loss === "probable" ? "probable" : answer.loss;
      if (earlier !== undefined && loss === "definite") {
        throw sessionLost(method, url, answer.status);
      }
      if (earlier !== undefined || !recover) throw notSentAgain(method, loss, answer.status);
      if (!isSentAgain) {
        await handshake.ensure(request, request.signal).catch(() => undefined);
        throw notSentAgain(method, loss, answer.status);
      }
      refusal = answer;
    } catch (error) {
      settle();
      throw error;
    }
    return await sendRequest(message, request, refusal);
  };

  const openAnswer = (
    response: Response,
    pending: PendingRequest,
    session: LiveSession,
    request: OutgoingRequest,
    settle: () => void,
  ): Response => {
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
      }),
      signal: request.signal,
      answered: () => ids.find(pending.wireId) === undefined,
      failure: (cause) => {
        const error = outcomeUnknown(pending.request.method, cause);
        return errorMessageText(pending.request.id, error, keepFailure(state, error));
      },
      onEnd: () => {
        settle();
        // A reason of our own: the default is an exception with a stack, made for every answer.
        over.abort("over");
      },
    };
    if (!isEvents) {
      headers.set("content-type", "application/json");
      return new Response(createJsonAnswerStream(options), { status: 200, headers });
    }
    const resume = createStreamResumption(
      (lastEventId, signal) => {
        const resumeHeaders = headersForMessage(request.headers, session);
        resumeHeaders.delete("content-type");
        resumeHeaders.set("accept", "text/event-stream");
        resumeHeaders.set("last-event-id", lastEventId);
        return send({ method: "GET", headers: resumeHeaders, signal, init: request.init });
      },
      [over.signal, ...(request.signal ? [request.signal] : [])],
    );
    return new Response(createEventAnswerStream({ ...options, resume }), { status, headers });
  };

  /** The session is gone, and the application is to say what becomes of the request. */
  const notSentAgain = (method: string, loss: "definite" | "probable", status?: number) =>
    loss === "definite"
      ? new McpSessionError(
          "SESSION_LOST",
          `${method} at ${url.origin}: the server no longer knows the session, and what it held for it is gone. The request was not carried out and not sent again.`,
          { data: { method, origin: url.origin, status } },
        )
      : new McpSessionError(
          "OUTCOME_UNKNOWN",
          `${method} at ${url.origin}: the server refused as if it had lost the session, and what it held for it is gone. Whether the request was carried out is unknown, so it was not sent again; check first.`,
          { data: { method, origin: url.origin, status } },
        );

  const outcomeUnknown = (method: string, cause: unknown) =>
    new McpSessionError(
      "OUTCOME_UNKNOWN",
      `${method} at ${url.origin}: the server took the request and its answer was lost on the way. Whether it was carried out is unknown; check before you send it again.`,
      { data: { method, origin: url.origin }, cause },
    );

  /** Tells the server that nobody waits any more, for clients that only drop the connection. */
  const cancelWhenAborted = (
    { wireId }: PendingRequest,
    session: LiveSession,
    template: OutgoingRequest,
  ): (() => void) => {
    const { signal } = template;
    const cancel = () => {
      // A stream may stay open after its answer.
      if (ids.find(wireId) === undefined) return;
      const isOn = typeof cancelOnAbort === "function" ? cancelOnAbort() : cancelOnAbort;
      if (!isOn) return;
      const params = { requestId: wireId, reason: "The request was aborted." };
      const cancelled = { method: "notifications/cancelled", params };
      const timeout = AbortSignal.timeout(cancelTimeoutMs);
      void sendOwn(cancelled, { template, session, signal: timeout })
        .then((response) => response.body?.cancel())
        .catch(() => undefined);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    return () => signal?.removeEventListener("abort", cancel);
  };

  return (message, request) =>
    isRequest(message) ? sendRequest(message, request) : sendOneWay(message, request);
}

const cancelTimeoutMs = 5_000;

/**
 * A client's `notifications/cancelled` names a request by the client's id. Unknown or ambiguous
 * ones are kept back: cancelling another client's request would be worse than not cancelling.
 */
function withWireIds(message: JsonRpcMessage & { method: string }, ids: RequestIds) {
  if (message.method !== "notifications/cancelled") return message;
  const params = "params" in message ? message.params : undefined;
  const pending = ids.findByClientId(params?.["requestId"]);
  return pending && { ...message, params: { ...params, requestId: pending.wireId } };
}
