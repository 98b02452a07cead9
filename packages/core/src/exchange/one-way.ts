import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { answerQuestion } from "../answer/server-requests.ts";
import {
  bufferAnswer,
  proven,
  putsInDoubt,
  readProof,
  responseForClient,
  toResponse,
} from "../session/buffered-answer.ts";
import { lose, sendOn, type SessionContext } from "../session/session-context.ts";
import { liveSession } from "../session/session-life.ts";
import { emptyAnswer, type JsonRpcMessage, methodOf, paramsOf } from "../wire/json-rpc.ts";
import { answerOrReason, type OutgoingRequest } from "../wire/server-endpoint.ts";
import { isLostInDoubt } from "./in-doubt.ts";
import { followNamed } from "./other-session.ts";

/** Sends a client's answer to the server, or a notification. Nobody waits for the server's answer. */
export async function exchangeOneWay(
  context: SessionContext,
  message: JsonRpcMessage,
  request: OutgoingRequest,
): Promise<Response> {
  const { state, answerMs } = context;
  const method = methodOf(message) ?? "response";
  // The answer to a question of the session that is just being taken over.
  const { current } = state.tasks.ensuring;
  if (!("method" in message) && current)
    await abortable(Promise.allSettled([current]), request.signal);
  const session = liveSession(state);
  if (session === undefined) return emptyAnswer(202);
  const outgoing =
    "method" in message ? withWireIds(context, message) : answerQuestion(context, message, session);
  if (outgoing === undefined) return emptyAnswer(202);
  const body = JSON.stringify(outgoing);
  const answer = await timeLimited(answerMs, request.signal, async (signal) => {
    const sending = sendOn(context, session, { ...request, body, signal }, methodOf(message));
    const response = await answerOrReason(sending, signal);
    if (!response.ok) {
      return await abortable(
        bufferAnswer(response, session, context.recovery.classifyLoss),
        signal,
      );
    }
    const isToRead = session.kind === "session" && !proven.has(session);
    const read = isToRead ? await readProof(response, session, signal) : response;
    if ("loss" in read) return read;
    followNamed(context, session, method, read, request).whenOver();
    return responseForClient(read);
  });
  if (answer instanceof Response) return answer;
  const { status } = answer;
  // The next request waits for it.
  const isSaid = answer.loss === "probable" && status !== 404;
  if (isSaid || putsInDoubt(session, answer, ""))
    void isLostInDoubt(context, session, { ...request, signal: undefined }, { method, status });
  if (answer.loss === "none" || answer.isOfVersion) return toResponse(answer);
  // The message concerned the lost session. The next request makes a new session, or tries this one again.
  const isMeant = answer.loss === "definite" || status === 404;
  const isSure = isMeant && context.recovery.onLoss !== "retry";
  if (isSure) lose(context, session, method, status);
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
