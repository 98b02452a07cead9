import { ensureOpened } from "../handshake/handshake.ts";
import { bufferAnswer, proven } from "../session/buffered-answer.ts";
import { isDoubtfulInside } from "../session/lost-session.ts";
import {
  type BoundedRequest,
  lose,
  type OwnRequest,
  pingOn,
  type SessionContext,
} from "../session/session-context.ts";
import { isCurrent } from "../session/session-life.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { hasContentType, isEventStream, letGo, readAnswer } from "../wire/read-answer.ts";

// Some servers refuse a session that they have forgotten without a word of it. A kept id would be refused in each
// later step. So a session that refuses, and has answered nothing since it was taken up, is asked about.

/**
 * Asks whether a session in doubt is lost, once for all requests that meet it. Others wait.
 *
 * @returns whether it is not in use any more
 */
export async function isLostInDoubt(
  context: SessionContext,
  session: LiveSession,
  { headers, init, signal }: OwnRequest,
  refused: { readonly method: string; readonly status: number },
): Promise<boolean> {
  if (context.state.isStarting) return false;
  const ask = async (own: AbortSignal) =>
    await askAbout(context, session, { headers, init, signal: own }, refused);
  // A failure on the way proves nothing about the session.
  await context.state.tasks.asking(ask, signal).catch(() => undefined);
  signal?.throwIfAborted();
  return !isCurrent(context.state, session);
}

/**
 * Asks about a session in doubt, and gives it up if it is lost: the server refuses a ping on it, opens a new session,
 * and refuses a last ping. A balancer without a server refuses all three alike. The successor is opened then, and
 * still to be confirmed.
 *
 * @param refused the request that the session refused, for the event
 */
async function askAbout(
  context: SessionContext,
  session: LiveSession,
  request: BoundedRequest,
  refused: { readonly method: string; readonly status: number },
): Promise<void> {
  const isInUse = () => isCurrent(context.state, session);
  const refuses = async (own: BoundedRequest) =>
    isInUse() && (await isRefused(context, session, own)) && isInUse();
  if (!(await refuses(request))) return;
  // A loss that is met meanwhile has the same successor.
  await ensureOpened(context, request, async (bounded) => {
    if (await refuses(bounded)) lose(context, session, refused.method, refused.status);
  });
}

/** Whether the server refuses a ping. Without an answer nothing is known. */
async function isRefused(
  context: SessionContext,
  session: LiveSession,
  request: BoundedRequest,
): Promise<boolean> {
  const isRefusal = await pingOn(context, session, request, async (response, id) => {
    if (!response.ok) {
      const refusal = await bufferAnswer(response, session, context.recovery.classifyLoss);
      return refusal.loss !== "none" || refusal.isDoubtful === true;
    }
    const isMessage = isEventStream(response) || hasContentType(response, "application/json");
    if (!isMessage) letGo(response);
    const answer = isMessage ? await readAnswer(response, id) : undefined;
    return isDoubtfulInside(answer) || answer?.result?.["isError"] === true;
  });
  if (isRefusal === false) proven.add(session);
  return isRefusal === true;
}
