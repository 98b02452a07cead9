import { sendOwn } from "../session/session-context.ts";
import { withTimeLimit } from "../base/bounded-wait.ts";
import { bufferAnswer, type BufferedAnswer } from "../session/buffered-answer.ts";
import type { LiveSession } from "../session/live-session.ts";
import { notSentAgain, refusedOnLiveSession, sessionLost } from "../session/session-errors.ts";
import { compareAndClear, isCurrent } from "../session/session-life.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";
import type { ExchangeContext } from "./exchange-context.ts";
import { maySendAgain } from "./resend-policy.ts";

/** The history of a request. */
export interface Attempts {
  /** Whether it met a lost session, and this attempt is on the replacement. */
  readonly isRecovered: boolean;
  /** Whether this session refused it before, and this attempt is the second on it. */
  readonly isRetried: boolean;
  /** Whether the server may have processed an earlier attempt. */
  readonly isUncertain: boolean;
}

export const firstAttempt: Attempts = { isRecovered: false, isRetried: false, isUncertain: false };

/**
 * Decides on a request that the server refused because it does not know the session.
 *
 * @returns the next attempt: on the same session, if it is still in use, or on its successor
 * @throws {McpSessionError} `SESSION_LOST`, `OUTCOME_UNKNOWN` for a request that is not sent again
 */
export async function decideAfterLoss(
  context: ExchangeContext,
  {
    message,
    request,
    session,
    attempts,
  }: {
    readonly message: JsonRpcRequest;
    readonly request: OutgoingRequest;
    /** The session of the refused request. */
    readonly session: LiveSession;
    readonly attempts: Attempts;
  },
  refusal: BufferedAnswer,
): Promise<Attempts> {
  const { state, url, handshake, recover, retrySameId, resend, isSafeToResend } = context;
  const { method } = message;
  const { status } = refusal;
  const maySend = maySendAgain(message, refusal.loss, resend, isSafeToResend);
  // If one attempt may have been processed, the outcome is unknown, whatever the others were.
  const isUncertain = attempts.isUncertain || refusal.loss === "probable";
  const loss = isUncertain ? "probable" : "definite";
  const isFirst = !attempts.isRetried && !attempts.isRecovered;
  if (retrySameId && isFirst && isCurrent(state, session)) {
    // Perhaps another replica refused it, which does not know the session.
    if (maySend) return { ...attempts, isUncertain, isRetried: true };
    if (await isKnown(context, session, request)) {
      throw refusedOnLiveSession(method, url, status);
    }
    // If the caller left during the ping, the ping proves nothing about the session.
    request.signal?.throwIfAborted();
  }
  lose(context, session, method, status);
  if (attempts.isRecovered && loss === "definite") throw sessionLost(method, url, status);
  if (attempts.isRecovered || !recover) throw notSentAgain(method, url, loss, status);
  if (maySend) return { ...attempts, isUncertain, isRecovered: true };
  await handshake.ensure(request, request.signal).catch(() => undefined);
  throw notSentAgain(method, url, loss, status);
}

/** Gives up a session that the server does not know, unless another has already taken its place. */
export function lose(
  { state, emit }: ExchangeContext,
  session: LiveSession,
  method: string,
  status: number,
): void {
  if (compareAndClear(state, session)) emit({ type: "lost", method, status });
}

const pingTimeoutMs = 5_000;

/** Whether the server, or the replica that answers this time, knows the session. */
async function isKnown(
  context: ExchangeContext,
  session: LiveSession,
  template: OutgoingRequest,
): Promise<boolean> {
  const signal = withTimeLimit(pingTimeoutMs, template.signal);
  try {
    const ping = { method: "ping", id: context.ids.next() };
    const response = await answerOrReason(
      sendOwn(context, ping, session, template, signal),
      signal,
    );
    // An outage of the server proves nothing about the session.
    const { loss } = await bufferAnswer(response, session, context.classifyLoss);
    return loss === "none";
  } catch {
    return false;
  }
}
