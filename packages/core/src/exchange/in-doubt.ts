import { openSession } from "../handshake/open-session.ts";
import { bufferAnswer, prove } from "../session/buffered-answer.ts";
import { isDoubtfulInside } from "../session/lost-session.ts";
import {
  type BoundedRequest,
  lose,
  pingOn,
  type SessionContext,
} from "../session/session-context.ts";
import { isCurrent } from "../session/session-life.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { hasContentType, isEventStream, letGo, readAnswer } from "../wire/read-answer.ts";

// Some servers refuse a session that they have forgotten without a word of it. A kept id would be refused in each
// later step. So a session that refuses, and has answered nothing since it was taken up, is asked about.

/**
 * Asks about a session in doubt, and gives it up if it is lost: the server refuses a ping on it, opens a new session,
 * and refuses a last ping. A balancer without a server refuses all three alike. The successor is opened then, and
 * still to be confirmed.
 *
 * @param refused the request that the session refused, for the event
 */
export async function askAbout(
  context: SessionContext,
  session: LiveSession,
  request: BoundedRequest,
  refused: { readonly method: string; readonly status: number },
): Promise<void> {
  const refuses = async () =>
    isCurrent(context.state, session) && (await isRefused(context, session, request));
  if (!(await refuses())) return;
  await openSession(context, request, async () => {
    const isGone = await refuses();
    if (isGone) lose(context, session, refused.method, refused.status);
    return isGone;
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
  if (isRefusal === false) prove(session);
  return isRefusal === true;
}
