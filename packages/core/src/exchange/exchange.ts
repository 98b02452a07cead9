import { abortable, withTimeLimit } from "../base/bounded-wait.ts";
import { createAnswerTimeout } from "../answer/answer-timeout.ts";
import { openAnswer } from "../answer/open-answer.ts";
import {
  bufferAnswer,
  type BufferedAnswer,
  isAuthOrOutage,
  toResponse,
  toResponseFor,
} from "../session/buffered-answer.ts";
import type { LiveSession } from "../session/live-session.ts";
import { announceResumption } from "../session/session-context.ts";
import { notSentAgain, outcomeUnknown, sessionRefused } from "../session/session-errors.ts";
import { headersForSession, responseForClient } from "../session/session-headers.ts";
import { liveSession, lostSession } from "../session/session-life.ts";
import { mayHaveArrived } from "../wire/connection-broke.ts";
import {
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
} from "../wire/json-rpc.ts";
import { emptyAnswer } from "../wire/local-answer.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";
import { type Attempts, decideAfterLoss, firstAttempt, lose } from "./after-loss.ts";
import { cancelWhenAborted } from "./cancel-when-aborted.ts";
import type { ExchangeContext } from "./exchange-context.ts";
import { isSafeMethod } from "./resend-policy.ts";

/** Sends a client's message on the session, and makes a session if there is none. */
export async function exchange(
  context: ExchangeContext,
  message: JsonRpcMessage,
  request: OutgoingRequest,
): Promise<Response> {
  announceResumption(context);
  return isRequest(message)
    ? await exchangeRequest(context, message, request)
    : await exchangeOneWay(context, message, request);
}

/**
 * Sends a client's request on the session and restores its answer. If the server has lost the session, it
 * refuses the request. Then `decideAfterLoss` decides. If the request goes on, the session is replaced and
 * its tools are listed again (`handshake.ensure`), and the request is sent again, once.
 */
async function exchangeRequest(
  context: ExchangeContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
): Promise<Response> {
  let attempts = firstAttempt;
  for (;;) {
    const session = await sessionFor(context, message, request, attempts);
    if (session instanceof Response) return session;
    const answer = await sendOnce(context, message, request, session);
    if (answer instanceof Response) return answer;
    attempts = await decideAfterLoss(context, { message, request, session, attempts }, answer);
  }
}

/** The session to send on, made if there is none, or a refusal for the client. */
async function sessionFor(
  { state, url, handshake, recover }: ExchangeContext,
  { id, method }: JsonRpcRequest,
  request: OutgoingRequest,
  { isUncertain }: Attempts,
): Promise<LiveSession | Response> {
  if (!recover && liveSession(state) === undefined && lostSession(state) !== undefined) {
    throw notSentAgain(method, url, "definite");
  }
  const mayHaveRun = isUncertain && !isSafeMethod(method);
  const ensured = await handshake.ensure(request, request.signal).catch((error: unknown) => {
    throw mayHaveRun && !request.signal?.aborted ? notSentAgain(method, url, "probable") : error;
  });
  if ("live" in ensured) {
    if (state.stream.opening) await abortable(state.stream.opening, request.signal);
    return ensured.live;
  }
  // A client would mistake any other refusal for an old server's answer. And after a 401 it would send
  // the request again, although it may have been carried out.
  if (isAuthOrOutage(ensured.refused) && !mayHaveRun) return toResponseFor(id, ensured.refused);
  const { status } = ensured.refused;
  throw isUncertain
    ? notSentAgain(method, url, "probable", status)
    : sessionRefused(state, method, url, status);
}

/** The client's answer, or the refusal of a server that does not know the session. */
async function sendOnce(
  context: ExchangeContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
  session: LiveSession,
): Promise<Response | BufferedAnswer> {
  const { url, ids, send, classifyLoss, answerMs } = context;
  const { method } = message;
  const sent = ids.send(message);
  const { pending } = sent;
  const isAnswered = () => ids.find(pending.wireId) === undefined;
  const timeout = createAnswerTimeout(answerMs, request.signal, isAnswered);
  const stopCancelling = cancelWhenAborted(context, { pending, session, request, timeout });
  const settle = () => {
    ids.settle(pending);
    timeout.stop();
    stopCancelling();
  };
  try {
    const headers = headersForSession(request.headers, session);
    const body = JSON.stringify(sent.message);
    const sending = send({ ...request, headers, body, signal: timeout.signal });
    const response = await answerOrReason(sending, timeout.signal);
    if (response.ok) {
      return openAnswer(context, response, { pending, session, request, timeout, settle });
    }
    const refusal = await abortable(bufferAnswer(response, session, classifyLoss), timeout.signal);
    settle();
    return refusal.loss === "none" ? toResponseFor(message.id, refusal) : refusal;
  } catch (error) {
    settle();
    const { silentMs } = timeout;
    const isUnknown = silentMs !== undefined || (!isSafeMethod(method) && mayHaveArrived(error));
    throw isUnknown ? outcomeUnknown(method, url, error, silentMs) : error;
  }
}

/** Sends a client's answer to the server, or a notification. Nobody waits for the server's answer. */
async function exchangeOneWay(
  context: ExchangeContext,
  message: JsonRpcMessage,
  request: OutgoingRequest,
): Promise<Response> {
  const { state, send, serverRequests, answerMs } = context;
  const session = liveSession(state);
  if (session === undefined) return emptyAnswer(202);
  const outgoing =
    "method" in message ? withWireIds(context, message) : serverRequests.answer(message, session);
  if (outgoing === undefined) return emptyAnswer(202);
  const signal = withTimeLimit(answerMs, request.signal);
  const headers = headersForSession(request.headers, session);
  const sending = send({ ...request, headers, body: JSON.stringify(outgoing), signal });
  const response = await answerOrReason(sending, signal);
  if (response.ok) return responseForClient(response);
  const answer = await bufferAnswer(response, session, context.classifyLoss);
  if (answer.loss === "none") return toResponse(answer);
  // The message concerned the lost session. The next request makes a new session, or tries this one again.
  if (!context.retrySameId) {
    lose(context, session, methodOf(message) ?? "response", answer.status);
  }
  return emptyAnswer(202);
}

/**
 * A client's `notifications/cancelled` names a request by the client's id. An unknown or ambiguous id is
 * withheld, because cancelling another client's request would be worse than not cancelling.
 */
function withWireIds({ ids }: ExchangeContext, message: JsonRpcMessage & { method: string }) {
  if (message.method !== "notifications/cancelled") return message;
  const params = paramsOf(message);
  const pending = ids.findByClientId(params?.["requestId"]);
  return pending && { ...message, params: { ...params, requestId: pending.wireId } };
}
