import type { AroundRecovery, RecoveryOutcome } from "../session/session-fetch-options.ts";
import {
  type BoundedRequest,
  type OwnRequest,
  pingOn,
  type SessionContext,
} from "../session/session-context.ts";
import { sessionIdHeader } from "../session/session-headers.ts";
import {
  foundSessions,
  enterOpened,
  giveUpNamed,
  liveSession,
  lostSession,
  namedInstead,
  openedSession,
} from "../session/session-life.ts";
import type { Confirmation, NamedSession, Opening } from "../session/slot-state.ts";
import { letGo } from "../wire/read-answer.ts";
import { confirmSession, useFound, useOpened } from "./confirm-session.ts";
import { type GiveUp, openSession } from "./open-session.ts";

// Sessions are made one at a time for each slot, however many requests and clients wait.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization

/**
 * Opens a session, which is still to be confirmed.
 *
 * @param giveUp for a session in doubt
 */
export function ensureOpened(
  context: SessionContext,
  { headers, init, signal: callerSignal }: OwnRequest,
  giveUp?: GiveUp,
): Promise<Opening> {
  const open = (signal: AbortSignal) => openSession(context, { headers, init, signal }, giveUp);
  return context.state.tasks.opening(open, callerSignal);
}

/** The session in use; makes one if there is none. */
export async function ensureSession(
  context: SessionContext,
  request: OwnRequest,
): Promise<Confirmation> {
  const { state } = context;
  const { around, onLoss } = context.recovery;
  const { headers, init } = request;
  const live = liveSession(state);
  if (live !== undefined) return { live };
  const ensured = await state.tasks.ensuring(async (signal, finish) => {
    const isLost = lostSession(state) !== undefined;
    const make = () => makeSession(context, { headers, init, signal }, finish);
    if (around === undefined || onLoss === "report" || !isLost) return await make();
    return await runAroundRecovery(around, make);
  }, request.signal);
  // The session may have been lost again while others waited for it.
  const isLostAgain =
    "live" in ensured && liveSession(state) === undefined && lostSession(state) !== undefined;
  return isLostAgain ? await ensureSession(context, request) : ensured;
}

/** Completes the handshake, from its current stage to its end. */
async function makeSession(
  context: SessionContext,
  request: BoundedRequest,
  finish: () => void,
): Promise<Confirmation> {
  const named = await openNamed(context, request);
  if (named !== undefined) {
    finish();
    return { live: await useOpened(context, named, request) };
  }
  const found = await useFound(context, request);
  if (found !== undefined) {
    foundSessions.add(found);
    return { live: found };
  }
  let opened = openedSession(context.state);
  if (opened === undefined) {
    const opening = await ensureOpened(context, request);
    if ("refused" in opening) return opening;
    ({ opened } = opening);
  }
  return await confirmSession(context, opened, request, finish);
}

/** Makes the new session exactly once, whatever `around` does. */
async function runAroundRecovery(
  around: AroundRecovery,
  make: () => Promise<Confirmation & { readonly refused?: RecoveryOutcome }>,
): Promise<Confirmation> {
  let making: ReturnType<typeof make> | undefined;
  const makeOnce = () => (making ??= make());
  try {
    // Only the status goes to the observer, because the outcome itself holds the session id.
    await around(async () => ({ status: (await makeOnce()).refused?.status }));
  } catch {
    // This is the recovery's own error, which is thrown below, or an error of the observer.
  }
  return await makeOnce();
}

/** Opens the session that an answer named, if there is one and the server keeps it. */
async function openNamed(
  context: SessionContext,
  request: BoundedRequest,
): Promise<NamedSession | undefined> {
  const { state } = context;
  const named = namedInstead(state);
  if (named === undefined) return undefined;
  const pinged = await pingOn(context, named, request, (response) => {
    letGo(response);
    const { headers, ok } = response;
    return ok ? (headers.get(sessionIdHeader) ?? named.sessionId) : undefined;
  });
  request.signal.throwIfAborted();
  // Another was opened meanwhile, in place of a session in doubt.
  if (openedSession(state) !== undefined) return undefined;
  if (pinged !== named.sessionId) {
    giveUpNamed(state, pinged !== undefined);
    return undefined;
  }
  enterOpened(state, named);
  return named;
}
