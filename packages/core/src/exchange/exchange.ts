import { abortable, onAbort, timeLimited } from "../base/bounded-wait.ts";
import { createAnswerTimeout } from "../answer/answer-timeout.ts";
import { type AnsweredRequest, openAnswer } from "../answer/open-answer.ts";
import { answerQuestion } from "../answer/server-requests.ts";
import { ensureSession } from "../handshake/handshake.ts";
import {
  bufferAnswer,
  isAuthOrOutage,
  responseForClient,
  toResponse,
  toResponseFor,
} from "../session/buffered-answer.ts";
import type { BufferedAnswer } from "../session/lost-session.ts";
import {
  announceResumption,
  sendOn,
  sendOwn,
  type SessionContext,
} from "../session/session-context.ts";
import {
  connectionBroke,
  notSentAgain,
  outcomeUnknown,
  sessionRefused,
} from "../session/session-errors.ts";
import { type LiveSession, liveSession, lostSession } from "../session/session-life.ts";
import {
  emptyAnswer,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
  safeMethods,
} from "../wire/json-rpc.ts";
import { answerOrReason, type OutgoingRequest } from "../wire/server-endpoint.ts";
import { letGo } from "../wire/read-answer.ts";
import { type Attempts, decideAfterLoss, lose } from "./after-loss.ts";

/** Sends a client's message on the session, and makes a session if there is none. */
export async function exchange(
  context: SessionContext,
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
 * its tools are listed again (`ensureSession`), and the request is sent again, once.
 */
async function exchangeRequest(
  context: SessionContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
): Promise<Response> {
  let attempts: Attempts = { isRecovered: false, isRetried: false, isUncertain: false };
  for (;;) {
    const session = await sessionFor(context, message, request, attempts);
    if (session instanceof Response) return session;
    const answer = await sendOnce(context, message, request, session).catch((error: unknown) => {
      throw failedAttempt(context, message, request, attempts, error);
    });
    if (answer instanceof Response) return answer;
    attempts = await decideAfterLoss(context, message, request, session, attempts, answer);
  }
}

/** The session to send on, made if there is none, or a refusal for the client. */
async function sessionFor(
  context: SessionContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
  attempts: Attempts,
): Promise<LiveSession | Response> {
  const { state, url, recover } = context;
  const { id, method } = message;
  const { signal } = request;
  if (!recover && liveSession(state) === undefined && lostSession(state) !== undefined) {
    throw notSentAgain({ method, url }, "definite");
  }
  const ensured = await ensureSession(context, request).catch((error: unknown) => {
    throw failedAttempt(context, message, request, attempts, error);
  });
  if ("live" in ensured) {
    if (state.stream.opening) await abortable(state.stream.opening, signal);
    return ensured.live;
  }
  // A client would mistake any other refusal for an old server's answer. And after a 401 it would send
  // the request again, although it may have been carried out.
  if (isAuthOrOutage(ensured.refused) && !mayHaveRun(message, attempts)) {
    return toResponseFor(id, ensured.refused);
  }
  const refused = { method, url, status: ensured.refused.status };
  throw attempts.isUncertain ? notSentAgain(refused, "probable") : sessionRefused(state, refused);
}

/** Whether an earlier attempt may have changed something on the server. */
function mayHaveRun({ method }: JsonRpcRequest, { isUncertain }: Attempts): boolean {
  return isUncertain && !safeMethods.has(method);
}

/** The error for the client: what became of this attempt tells nothing about an earlier one. */
function failedAttempt(
  { url }: SessionContext,
  message: JsonRpcRequest,
  { signal }: OutgoingRequest,
  attempts: Attempts,
  cause: unknown,
): unknown {
  if (!mayHaveRun(message, attempts) || signal?.aborted) return cause;
  return notSentAgain({ method: message.method, url, cause }, "probable");
}

/** The client's answer, or the refusal of a server that does not know the session. */
async function sendOnce(
  context: SessionContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
  session: LiveSession,
): Promise<Response | BufferedAnswer> {
  const { url, ids, classifyLoss, answerMs } = context;
  const { method } = message;
  const { pending, message: outgoing } = ids.send(message);
  const isAnswered = () => ids.find(pending.wireId) === undefined;
  const timeout = createAnswerTimeout(answerMs, request.signal, isAnswered);
  const stopCancelling = cancelWhenAborted(context, { pending, session, request, timeout });
  const { signal } = timeout;
  const settle = () => {
    ids.settle(pending);
    timeout.stop();
    stopCancelling();
  };
  try {
    const body = JSON.stringify(outgoing);
    const sending = sendOn(context, session, { ...request, body, signal }, method);
    const response = await answerOrReason(sending, signal);
    if (response.ok) {
      return openAnswer(context, response, { pending, session, request, timeout, settle });
    }
    const refusal = await abortable(bufferAnswer(response, session, classifyLoss), signal);
    settle();
    return refusal.loss === "none" ? toResponseFor(message.id, refusal) : refusal;
  } catch (cause) {
    settle();
    const { silentMs } = timeout;
    if (silentMs !== undefined) throw outcomeUnknown({ method, url, cause }, silentMs);
    throw signal.aborted ? cause : connectionBroke({ method, url, cause });
  }
}

const cancelTimeoutMs = 5_000;

/**
 * Tells the server that nobody waits for the answer any more: some clients only drop the connection when
 * they abort, and a silent server has to stop too. Best effort.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
 */
function cancelWhenAborted(
  context: SessionContext,
  { pending: { wireId }, session, request, timeout }: Omit<AnsweredRequest, "settle">,
): () => void {
  const { ids, cancelOnAbort } = context;
  return onAbort(timeout.signal, () => {
    // A stream may stay open after its answer.
    if (ids.find(wireId) === undefined) return;
    const isSilent = timeout.silentMs !== undefined;
    const isOn = typeof cancelOnAbort === "function" ? cancelOnAbort() : cancelOnAbort;
    if (!isOn && !isSilent) return;
    const reason = isSilent ? "The server was silent." : "The request was aborted.";
    const params = { requestId: wireId, reason };
    const cancelled = { method: "notifications/cancelled", params };
    const own = { ...request, signal: AbortSignal.timeout(cancelTimeoutMs) };
    void sendOwn(context, session, cancelled, own)
      .then(letGo)
      .catch(() => undefined);
  });
}

/** Sends a client's answer to the server, or a notification. Nobody waits for the server's answer. */
async function exchangeOneWay(
  context: SessionContext,
  message: JsonRpcMessage,
  request: OutgoingRequest,
): Promise<Response> {
  const { state, answerMs } = context;
  const session = liveSession(state);
  if (session === undefined) return emptyAnswer(202);
  const outgoing =
    "method" in message ? withWireIds(context, message) : answerQuestion(context, message, session);
  if (outgoing === undefined) return emptyAnswer(202);
  const body = JSON.stringify(outgoing);
  const answer = await timeLimited(answerMs, request.signal, async (signal) => {
    const sending = sendOn(context, session, { ...request, body, signal }, methodOf(message));
    const response = await answerOrReason(sending, signal);
    if (response.ok) return responseForClient(response);
    return await abortable(bufferAnswer(response, session, context.classifyLoss), signal);
  });
  if (answer instanceof Response) return answer;
  if (answer.loss === "none") return toResponse(answer);
  // The message concerned the lost session. The next request makes a new session, or tries this one again.
  if (!context.retrySameId) lose(context, session, methodOf(message) ?? "response", answer.status);
  return emptyAnswer(202);
}

/**
 * A client's `notifications/cancelled` names a request by the client's id. An unknown or ambiguous id is
 * withheld, because cancelling another client's request would be worse than not cancelling.
 */
function withWireIds({ ids }: SessionContext, message: JsonRpcMessage & { method: string }) {
  if (message.method !== "notifications/cancelled") return message;
  const params = paramsOf(message);
  const pending = ids.findByClientId(params?.["requestId"]);
  return pending && { ...message, params: { ...params, requestId: pending.wireId } };
}
