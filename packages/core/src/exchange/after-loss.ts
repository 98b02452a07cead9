import { endUnused } from "../handshake/end-session.ts";
import { ensureOpened, ensureSession } from "../handshake/handshake.ts";
import { bufferAnswer, toResponseFor } from "../session/buffered-answer.ts";
import {
  type BufferedAnswer,
  isOfRouter,
  saysNothing,
  type SessionLoss,
} from "../session/lost-session.ts";
import { lose, pingOn, type SessionContext } from "../session/session-context.ts";
import {
  eraUnsupported,
  notSentAgain,
  refusedOnLiveSession,
  successorLost,
  wayBroken,
} from "../session/session-errors.ts";
import type { ResendPolicy } from "../session/session-fetch-options.ts";
import { foundSessions, isCurrent, isRestored } from "../session/session-life.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { type JsonRpcRequest, parseMessage, safeMethods } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import { isLostInDoubt } from "./in-doubt.ts";

/** The history of a request. */
export interface Attempts {
  /** Whether it met a lost session, and this attempt is on the replacement. */
  readonly isRecovered: boolean;
  /** Whether that was lost, too, which another process had begun. */
  readonly isFoundLost: boolean;
  /** Whether this session refused it before, and this attempt is the second on it. */
  readonly isRetried: boolean;
  /** Whether the server may have processed an earlier attempt. */
  readonly isUncertain: boolean;
}

/** What a refusal says of its session. One in doubt is asked about first. */
async function lossAfter(
  context: SessionContext,
  { method }: JsonRpcRequest,
  request: OutgoingRequest,
  session: LiveSession,
  refusal: BufferedAnswer,
): Promise<SessionLoss> {
  const { body, loss, status } = refusal;
  // Who only looks opens nothing.
  const isLook = context.recovery.onLoss === "report" && method === "ping";
  if (loss !== "none" || isLook) return loss;
  const isLost = await isLostInDoubt(context, session, request, { method, status });
  // A tool has answered. The next call goes on in the successor.
  const isResult = status < 300 && "result" in { ...parseMessage(body) };
  if (!isLost || isResult) return "none";
  return isOfRouter(refusal) ? "definite" : "probable";
}

/**
 * Decides on a request that the server refused, perhaps because it does not know its session, or because it wants
 * another handshake.
 *
 * @returns the next attempt: on the same session, if it is still in use, or on its successor. Or the
 *   refusal for the client, if it meant something else than the session
 * @throws {McpSessionError} `SESSION_LOST`, `OUTCOME_UNKNOWN` for a request that is not sent again
 */
export async function decideAfterRefusal(
  context: SessionContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
  session: LiveSession,
  made: Attempts,
  given: BufferedAnswer,
): Promise<Attempts | Response> {
  // The server may have forgotten one that another process has begun meanwhile, too.
  const { isRecovered, isFoundLost } = made;
  const isOfOther = given.loss === "definite" && foundSessions.delete(session);
  const isFound = isRecovered && !isFoundLost && isOfOther;
  const attempts = isFound ? { ...made, isRecovered: false, isFoundLost: true } : made;
  const said = attempts.isRecovered
    ? given.loss
    : await lossAfter(context, message, request, session, given);
  if (said === "none") return toResponseFor(message.id, given);
  const refusal = { ...given, loss: said };
  const { method } = message;
  const { status } = refusal;
  const { onLoss, resend } = context.recovery;
  if (session.kind === "sessionless") {
    lose(context, session, method, status);
    const mayTry = !attempts.isRecovered && resend !== "never";
    if (!mayTry) return toResponseFor(message.id, refusal);
    if (context.session === "stateless") {
      // The client made the handshake. If the next one fails, the refusal of its own request says more.
      const ensured = await ensureSession(context, request).catch(() => undefined);
      request.signal?.throwIfAborted();
      if (!ensured || "refused" in ensured) return toResponseFor(message.id, refusal);
    }
    return { ...attempts, isRecovered: true };
  }
  const refused = { method, url: context.url, status };
  if (refusal.isOfVersion && isCurrent(context.state, session)) {
    const isAgain = attempts.isRetried || attempts.isRecovered;
    // Perhaps another replica takes it.
    if (!isAgain && resend !== "never") return { ...attempts, isRetried: true };
    if (onLoss !== "report") await ensureOpened(context, request).catch(() => undefined);
    request.signal?.throwIfAborted();
    if (isCurrent(context.state, session)) return toResponseFor(message.id, refusal);
  }
  const maySend = maySendAgain(resend, message, refusal.loss);
  const isOf404 = status === 404;
  // A gateway may send a 404 after the work. One without words is taken for the server's, but nothing is claimed.
  const mayHaveRun = refusal.loss === "probable" || (isOf404 && saysNothing(refusal.body));
  // If one attempt may have been processed, the outcome is unknown, whatever the others were.
  const isUncertain = attempts.isUncertain || (mayHaveRun && !safeMethods.has(method));
  const loss = isUncertain ? "probable" : "definite";
  const isFirst = !attempts.isRetried && !attempts.isRecovered;
  const kept = () => wayBroken(refused, isUncertain);
  const isAsked = refusal.loss === "probable" && !isOf404;
  if (!isAsked && isRestored(context.state, session)) throw kept();
  if (isCurrent(context.state, session)) {
    // Perhaps another replica refused it, which does not know the session.
    const mayBeOther = onLoss === "retry" && isFirst;
    if (mayBeOther && maySend) return { ...attempts, isUncertain, isRetried: true };
    // Words about a session may mean another one: a login, a browser, an upload.
    if (mayBeOther || isAsked) {
      if (await isKnown(context, session, request)) {
        if (onLoss === "retry") throw refusedOnLiveSession(refused);
        return toResponseFor(message.id, refusal);
      }
      // If the caller left during the ping, the ping proves nothing about the session.
      request.signal?.throwIfAborted();
    }
  }
  lose(context, session, method, status);
  // Another replica made it, which would keep it.
  if (attempts.isRecovered) endUnused(context, session, request);
  if (attempts.isRecovered && loss === "definite") throw successorLost(refused);
  const isSaidUndone = refusal.loss === "definite" && !attempts.isUncertain;
  if (onLoss === "report") throw notSentAgain(refused, isSaidUndone ? "definite" : loss);
  if (attempts.isRecovered) throw notSentAgain(refused, loss);
  if (context.state.phase.name === "stateless" && isSaidUndone) throw eraUnsupported(refused);
  if (maySend) return { ...attempts, isUncertain, isRecovered: true };
  await ensureSession(context, request).catch(() => undefined);
  throw isCurrent(context.state, session) ? kept() : notSentAgain(refused, loss);
}

export function maySendAgain(
  resend: ResendPolicy,
  request: JsonRpcRequest,
  loss: SessionLoss,
): boolean {
  if (resend === "always" || resend === "never") return resend === "always";
  if (loss === "definite" || safeMethods.has(request.method)) return true;
  return typeof resend === "function" && resend(request);
}

/** Whether the server, or the replica that answers this time, knows the session. */
async function isKnown(
  context: SessionContext,
  session: LiveSession,
  request: OutgoingRequest,
): Promise<boolean> {
  const loss = await pingOn(context, session, request, async (response) => {
    // An outage of the server proves nothing about the session.
    return (await bufferAnswer(response, session, context.recovery.classifyLoss)).loss;
  });
  return loss === "none";
}
