import { abortable } from "../base/bounded-wait.ts";
import { createAnswerTimeout } from "../answer/answer-timeout.ts";
import {
  bufferAnswer,
  type BufferedAnswer,
  isAuthOrOutage,
  toResponse,
  toResponseFor,
} from "../session/buffered-answer.ts";
import { sessionLost, sessionRefused } from "../session/handshake-errors.ts";
import type { Handshake } from "../handshake/handshake.ts";
import { isRequest, type JsonRpcMessage, type JsonRpcRequest } from "../wire/json-rpc.ts";
import { emptyAnswer } from "../wire/local-answer.ts";
import { mayHaveArrived } from "../wire/connection-broke.ts";
import { cancelWhenAborted } from "./cancel-when-aborted.ts";
import { createExchangeErrors } from "../session/exchange-errors.ts";
import type { RefusedAnswer, SessionLoss } from "../session/lost-session.ts";
import type { Notify } from "../answer/notify.ts";
import { createAnswerOpener } from "../answer/open-answer.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import type { RequestIds } from "../wire/request-ids.ts";
import { isSafeMethod, maySendAgain, type ResendPolicy } from "./resend-policy.ts";
import type { SendOwnMessage } from "../session/own-message.ts";
import type { SendToEndpoint } from "../wire/server-endpoint.ts";
import type { ServerRequests } from "../answer/server-requests.ts";
import type { EmitSessionEvent } from "../session/session-event.ts";
import { headersForClient, headersForSession } from "../session/session-headers.ts";
import { withTimeLimit } from "../base/bounded-wait.ts";
import { type LiveSession, sameSession } from "../session/live-session.ts";
import { compareAndClear, type SlotState } from "../session/session-slot.ts";
import type { ToolListKeeper } from "../tools/tool-list.ts";

/** What became of a request so far. */
interface Attempts {
  /** Whether it met a lost session, and this attempt is on the one that took its place. */
  readonly isRecovered: boolean;
  /** Whether it was refused on this session before, and this attempt is the second there. */
  readonly isRetried: boolean;
  /** Whether an attempt before may have been processed. */
  readonly isUncertain: boolean;
}

const firstAttempt: Attempts = { isRecovered: false, isRetried: false, isUncertain: false };

/**
 * Sends a client's message on the session and restores its answer. A request that meets a lost
 * session is sent again, once, on the one that takes its place, where the policy allows it.
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
  classifyLoss,
  retrySameId,
  answerTimeoutMs,
  notify,
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
  classifyLoss: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  retrySameId: boolean;
  answerTimeoutMs: number;
  notify: Notify | undefined;
  recover: boolean;
}): (message: JsonRpcMessage, request: OutgoingRequest) => Promise<Response> {
  const { notSentAgain, refusedOnce, outcomeUnknown } = createExchangeErrors({
    url,
    answerTimeoutMs,
  });

  const openAnswer = createAnswerOpener({
    state,
    send,
    ids,
    tools,
    serverRequests,
    notify,
    answerTimeoutMs,
    outcomeUnknown,
  });

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
    const signal = withTimeLimit(answerTimeoutMs, request.signal);
    const headers = headersForSession(request.headers, session);
    const sending = send({ ...request, headers, body: JSON.stringify(outgoing), signal });
    const response = await orNever(sending, signal);
    if (!response.ok) {
      const answer = await bufferAnswer(response, session, classifyLoss);
      if (answer.loss === "none") return toResponse(answer);
      // It was about the lost session; the next request makes a new one, or tries this one again.
      if (!retrySameId)
        lose(session, "method" in message ? message.method : "response", answer.status);
      return emptyAnswer(202);
    }
    const { status } = response;
    return new Response(response.body, { status, headers: headersForClient(response.headers) });
  };

  const sendRequest = async (
    message: JsonRpcRequest,
    request: OutgoingRequest,
    attempts = firstAttempt,
  ): Promise<Response> => {
    const { method } = message;
    if (!recover && state.live === undefined && state.lost !== undefined) {
      throw notSentAgain(method, "definite");
    }
    const mayHaveRun = attempts.isUncertain && !isSafeMethod(method);
    const ensured = await handshake.ensure(request, request.signal).catch((error: unknown) => {
      throw mayHaveRun && !request.signal?.aborted ? notSentAgain(method, "probable") : error;
    });
    if ("refused" in ensured) {
      // Anything else a client would take for the answer of an old server. But after a 401 it
      // would send again what may have been carried out.
      if (isAuthOrOutage(ensured.refused) && !mayHaveRun) {
        return toResponseFor(message.id, ensured.refused);
      }
      if (attempts.isUncertain) throw notSentAgain(method, "probable", ensured.refused.status);
      throw sessionRefused(state, method, url, ensured.refused.status);
    }
    const session = ensured.live;
    if (state.listenOpening) await abortable(state.listenOpening, request.signal);
    const sent = ids.send(message);
    const timeout = createAnswerTimeout(
      answerTimeoutMs,
      request.signal,
      () => ids.find(sent.pending.wireId) === undefined,
    );
    const stopCancelling = cancelWhenAborted({
      pending: sent.pending,
      session,
      template: request,
      waiting: timeout,
      ids,
      sendOwn,
      cancelOnAbort,
    });
    const settle = () => {
      ids.settle(sent.pending);
      timeout.stop();
      stopCancelling();
    };
    let refusal: BufferedAnswer;
    try {
      const headers = headersForSession(request.headers, session);
      const body = JSON.stringify(sent.message);
      const sending = send({ ...request, headers, body, signal: timeout.signal });
      const response = await orNever(sending, timeout.signal);
      if (response.ok) {
        return openAnswer(response, { pending: sent.pending, session, request, timeout, settle });
      }
      refusal = await abortable(bufferAnswer(response, session, classifyLoss), timeout.signal);
      settle();
    } catch (error) {
      settle();
      const isUnknown = timeout.expired || (!isSafeMethod(method) && mayHaveArrived(error));
      throw isUnknown ? outcomeUnknown(method, error, timeout) : error;
    }
    if (refusal.loss === "none") return toResponseFor(message.id, refusal);
    return await afterLoss(message, request, session, refusal, attempts);
  };

  /** Decides on a request that was refused because the server does not know the session. */
  const afterLoss = async (
    message: JsonRpcRequest,
    request: OutgoingRequest,
    session: LiveSession,
    { loss: refusalLoss, status }: BufferedAnswer,
    attempts: Attempts,
  ): Promise<Response> => {
    const { method } = message;
    const maySend = maySendAgain(message, refusalLoss, resend, isSafeToResend);
    // One attempt that may have been processed makes the outcome unknown, whatever the others were.
    const isUncertain = attempts.isUncertain || refusalLoss === "probable";
    const loss = isUncertain ? "probable" : "definite";
    const isCurrent = state.live !== undefined && sameSession(state.live, session);
    if (retrySameId && isCurrent && !attempts.isRetried && !attempts.isRecovered) {
      // Another replica, perhaps, which does not know it.
      if (maySend) {
        return await sendRequest(message, request, { ...attempts, isUncertain, isRetried: true });
      }
      if (await isKnown(session, request)) throw refusedOnce(method, status);
      // A caller that left while it was asked proves nothing about the session.
      request.signal?.throwIfAborted();
    }
    lose(session, method, status);
    if (attempts.isRecovered && loss === "definite") throw sessionLost(method, url, status);
    if (attempts.isRecovered || !recover) throw notSentAgain(method, loss, status);
    if (!maySend) {
      await handshake.ensure(request, request.signal).catch(() => undefined);
      throw notSentAgain(method, loss, status);
    }
    return await sendRequest(message, request, { ...attempts, isUncertain, isRecovered: true });
  };

  /** Whether the server, or the replica that is hit this time, knows the session. */
  const isKnown = async (session: LiveSession, template: OutgoingRequest): Promise<boolean> => {
    const signal = withTimeLimit(pingTimeoutMs, template.signal);
    try {
      const ping = { method: "ping", id: ids.next() };
      const response = await orNever(sendOwn(ping, { template, session, signal }), signal);
      // An outage of the server says nothing of the session.
      const { loss } = await bufferAnswer(response, session, classifyLoss);
      return loss === "none";
    } catch {
      return false;
    }
  };

  return (message, request) =>
    isRequest(message) ? sendRequest(message, request) : sendOneWay(message, request);
}

const pingTimeoutMs = 5_000;

/** The answer, or the signal's reason; what comes after that is thrown away. */
async function orNever(sending: Promise<Response>, signal: AbortSignal): Promise<Response> {
  try {
    return await abortable(sending, signal);
  } catch (error) {
    // With a base fetch that does not heed the signal an answer comes all the same.
    sending.then((late) => late.body?.cancel(error)).catch(() => undefined);
    throw error;
  }
}

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
