import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { type AnswerTimeout, createAnswerTimeout } from "../answer/answer-timeout.ts";
import { askedUntil } from "../answer/server-requests.ts";
import { openAnswer } from "../answer/open-answer.ts";
import { ensureSession } from "../handshake/handshake.ts";
import {
  bufferAnswer,
  isAuthOrOutage,
  proven,
  putsInDoubt,
  readProof,
  takeSuspicion,
  toResponseFor,
} from "../session/buffered-answer.ts";
import type { BufferedAnswer } from "../session/lost-session.ts";
import {
  announceResumption,
  type Answer,
  lose,
  sendOwn,
  type SessionContext,
} from "../session/session-context.ts";
import {
  arrivedTwice,
  connectionBroke,
  eraUnsupported,
  notSentAgain,
  outcomeUnknown,
  sessionRefused,
  wayBroken,
} from "../session/session-errors.ts";
import { namedSession, nameSession } from "../session/session-headers.ts";
import { liveSession, lostSession } from "../session/session-life.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { refuseUnheard } from "../session/standing-requests.ts";
import {
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  safeMethods,
} from "../wire/json-rpc.ts";
import { dropLate, type OutgoingRequest, sendToEndpoint } from "../wire/server-endpoint.ts";
import { letGo } from "../wire/read-answer.ts";
import { type Attempts, decideAfterRefusal } from "./after-loss.ts";
import { isLostInDoubt } from "./in-doubt.ts";
import { exchangeOneWay } from "./one-way.ts";
import { followNamed } from "./other-session.ts";

/** Sends a client's message on the session, and makes a session if there is none. */
export async function exchange(
  context: SessionContext,
  message: JsonRpcMessage,
  request: OutgoingRequest,
): Promise<Answer> {
  announceResumption(context);
  if (!isRequest(message)) return await exchangeOneWay(context, message, request);
  return refuseUnheard(context, message) ?? (await exchangeRequest(context, message, request));
}

/**
 * Sends a client's request on the session and restores its answer. If the server has lost the session, it
 * refuses the request. Then `decideAfterRefusal` decides. If the request goes on, the session is replaced and
 * its tools are listed again (`ensureSession`), and the request is sent again, once.
 */
async function exchangeRequest(
  context: SessionContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
): Promise<Answer> {
  let attempts: Attempts = {
    ...{ isRecovered: false, isFoundLost: false },
    ...{ isRetried: false, isUncertain: false },
  };
  for (;;) {
    const { current: asking } = context.state.tasks.asking;
    if (asking) await abortable(Promise.allSettled([asking]), request.signal);
    // Requests wait for a listening stream.
    const { isOpen, opening } = context.state.stream;
    const ready = isOpen || opening ? undefined : liveSession(context.state);
    const session = ready ?? (await sessionFor(context, message, request, attempts));
    if (session instanceof Response) return session;
    let answer;
    try {
      answer = await sendOnce(context, message, request, session);
    } catch (error) {
      throw failedAttempt(context, message, request, attempts, error);
    }
    if (!("loss" in answer)) return answer;
    const next = await decideAfterRefusal(context, message, request, session, attempts, answer);
    if (next instanceof Response) return next;
    attempts = next;
  }
}

/** The session to send on, made if there is none, or a refusal for the client. */
async function sessionFor(
  context: SessionContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
  attempts: Attempts,
): Promise<LiveSession | Response> {
  const { state, url, recovery } = context;
  const { id, method } = message;
  const { signal } = request;
  const isLost = liveSession(state) === undefined && lostSession(state) !== undefined;
  if (recovery.onLoss === "report" && isLost) {
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
  // the request again, although it may have been carried out. A lasting client gets results in place of refusals,
  // and an outage would not say that the request was not sent.
  const isForClient = context.lasting === undefined || ensured.refused.status < 500;
  if (isForClient && isAuthOrOutage(ensured.refused) && !mayHaveRun(message, attempts)) {
    return toResponseFor(id, ensured.refused);
  }
  const refused = { method, url, status: ensured.refused.status };
  const isKept = liveSession(state) !== undefined;
  if (attempts.isUncertain)
    throw isKept ? wayBroken(refused, true) : notSentAgain(refused, "probable");
  throw ensured.stateless
    ? eraUnsupported(refused)
    : sessionRefused(state, refused, ensured.isMade);
}

/** Whether an earlier attempt may have changed something on the server. */
function mayHaveRun({ method }: JsonRpcRequest, { isUncertain }: Attempts): boolean {
  return isUncertain && !safeMethods.has(method);
}

/** The error for the client: the outcome of this attempt tells nothing about an earlier one. */
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
): Promise<Answer | BufferedAnswer> {
  const { url, ids, recovery, answerMs, state } = context;
  const { method } = message;
  const { pending, message: outgoing } = ids.send(message);
  state.underWay.add(pending);
  const isAnswered = () => ids.find(pending.wireId) === undefined;
  let carriedOutIn = session;
  const leave = () => {
    if (isAnswered()) return;
    cancelOnServer(context, pending.wireId, request, timeout, carriedOutIn);
  };
  const asked = () => askedUntil(context, carriedOutIn);
  const timeout = createAnswerTimeout(answerMs, request.signal, isAnswered, leave, asked);
  const { signal } = timeout;
  const settle = () => {
    ids.settle(pending);
    state.underWay.delete(pending);
    timeout.stop();
  };
  try {
    const body = JSON.stringify(outgoing);
    const headers = nameSession(request.headers, session);
    const sending = sendToEndpoint(context, { ...request, headers, body, signal });
    const response = await new Promise<Response>((resolve, reject) => {
      timeout.interrupt = (reason) => {
        reject(reason);
        dropLate(sending, reason);
      };
      sending.then(resolve, reject);
    });
    if (response.ok) {
      const read = proven.has(session) ? response : await readProof(response, session, signal);
      if ("loss" in read) {
        settle();
        return read;
      }
      // It has sessions by now, which are the clients' own.
      const isOwnNow = context.session === "stateless" && namedSession(read) !== undefined;
      if (isOwnNow) lose(context, session, method, read.status);
      const followed = followNamed(context, session, method, read, request);
      carriedOutIn = followed.session;
      return openAnswer(context, read, {
        ...{ pending, session: carriedOutIn, request, timeout },
        settle() {
          settle();
          followed.whenOver();
          if (!takeSuspicion(carriedOutIn)) return;
          const unbound = { ...request, signal: undefined };
          void isLostInDoubt(context, carriedOutIn, unbound, { method, status: 200 });
        },
      });
    }
    const refusal = await abortable(bufferAnswer(response, session, recovery.classifyLoss), signal);
    settle();
    // The words of `@durable-mcp/server`.
    const isRepeated = refusal.status === 409 && refusal.body.includes("with this id is in flight");
    if (isRepeated && !safeMethods.has(method)) throw arrivedTwice({ method, url, status: 409 });
    const isLeft = refusal.loss === "none" && !putsInDoubt(session, refusal, pending.wireId);
    return isLeft ? toResponseFor(message.id, refusal) : refusal;
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
function cancelOnServer(
  context: SessionContext,
  wireId: string,
  request: OutgoingRequest,
  timeout: AnswerTimeout,
  session: LiveSession,
): void {
  const { cancelOnAbort } = context;
  const isSilent = timeout.silentMs !== undefined;
  const isOn = typeof cancelOnAbort === "function" ? cancelOnAbort() : cancelOnAbort;
  if (!isOn && !isSilent) return;
  const reason = isSilent ? "No answer was read in time." : "The request was aborted.";
  const params = { requestId: wireId, reason };
  const cancelled = { method: "notifications/cancelled", params };
  const send = (signal: AbortSignal) =>
    sendOwn(context, session, cancelled, { ...request, signal });
  void timeLimited(cancelTimeoutMs, undefined, send)
    .then(letGo)
    .catch(() => undefined);
}
