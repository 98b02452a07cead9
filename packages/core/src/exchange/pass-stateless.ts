import { answerProbe, describeClientIn } from "../handshake/client-handshake.ts";
import { ensureSession } from "../handshake/handshake.ts";
import { bufferAnswer, responseForClient, toResponse } from "../session/buffered-answer.ts";
import { refusesRevision, refusesUnprocessed, refusesVersion } from "../session/lost-session.ts";
import { sendOn, type SessionContext } from "../session/session-context.ts";
import { eraChanged } from "../session/session-errors.ts";
import { setClientParams } from "../session/session-life.ts";
import { type JsonRpcRequest, revisionIn } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";

/**
 * Sends a request to a server that is known to have no sessions. If it refuses the request's revision, it may have
 * sessions by now: one handshake decides, after a second attempt for which a balancer may choose another replica.
 *
 * @throws {McpSessionError} `ERA_UNSUPPORTED` for a client that was connected for the other revisions
 */
export async function passStateless(
  context: SessionContext,
  request: OutgoingRequest,
  message: JsonRpcRequest,
): Promise<Response> {
  const { state, url, resend, recover } = context;
  const { method, params } = message;
  const revision = revisionIn(message);
  const send = () => sendOn(context, undefined, request, method);
  const first = await send();
  if (first.ok) return responseForClient(first);
  let refusal = await bufferAnswer(first);
  const { status } = refusal;
  if (revision === undefined && refusesVersion(refusal)) throw eraChanged({ method, url, status });
  const isDenied = revision !== undefined && refusesRevision(refusal, revision);
  if (!isDenied || !recover) return toResponse(refusal);
  if (resend !== "never" && refusesUnprocessed(refusal)) {
    const second = await send();
    if (second.ok) return responseForClient(second);
    refusal = await bufferAnswer(second);
  }
  if (method === "server/discover") {
    return (await answerProbe(context, message, request)) ?? toResponse(refusal);
  }
  if (state.clientParams === undefined) setClientParams(state, describeClientIn(params));
  const ensured = await ensureSession(context, request).catch(() => undefined);
  request.signal?.throwIfAborted();
  if (ensured && "live" in ensured) throw eraChanged({ method, url, status });
  return toResponse(refusal);
}
