import { answerProbe } from "../handshake/client-handshake.ts";
import { ensureSession } from "../handshake/handshake.ts";
import { bufferAnswer, responseForClient, toResponse } from "../session/buffered-answer.ts";
import { refusesRevision } from "../session/lost-session.ts";
import { sendOn, type SessionContext } from "../session/session-context.ts";
import { eraUnsupported } from "../session/session-errors.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { type JsonRpcMessage, type JsonRpcRequest, methodOf } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";

/** Lets a request through unchanged, on a session or on none. */
export async function pass(
  context: SessionContext,
  request: OutgoingRequest,
  message?: JsonRpcMessage,
  live?: LiveSession,
): Promise<Response> {
  const response = await sendOn(context, live, request, message && methodOf(message));
  if (!response.ok && live !== undefined) return toResponse(await bufferAnswer(response, live));
  return responseForClient(response);
}

/**
 * The same to a server that is known to have no sessions. If it refuses the revision, a handshake tells whether it
 * has sessions by now. @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if it has, and a client goes on without
 */
export async function passStateless(
  context: SessionContext,
  request: OutgoingRequest,
  message: JsonRpcRequest,
): Promise<Response> {
  const { method } = message;
  const response = await pass(context, request, message);
  const { status } = response;
  if (response.ok || context.recovery.onLoss === "report") return response;
  const refusal = await bufferAnswer(response);
  if (!refusesRevision(refusal)) return toResponse(refusal);
  const probed = await answerProbe(context, message, request).catch(() => undefined);
  request.signal?.throwIfAborted();
  if (probed && method === "server/discover") return probed;
  const ensured = probed && (await ensureSession(context, request));
  if (ensured && "live" in ensured) throw eraUnsupported({ method, url: context.url, status });
  return toResponse(refusal);
}
