import type { RequestTemplate } from "../session/own-message.ts";
import {
  type Confirmation,
  liveSession,
  lostSession,
  openedSession,
  type Opening,
} from "../session/session-life.ts";
import { type AroundRecovery, runAroundRecovery } from "./around-recovery.ts";
import { confirmSession } from "./confirm-session.ts";
import type { HandshakeContext } from "./handshake-context.ts";
import { openSession } from "./open-session.ts";

/**
 * Makes sessions, one at a time for each slot, however many requests and clients wait.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
 */
export interface Handshake {
  /** Sends `initialize`, without an id. */
  open(template: RequestTemplate, signal: AbortSignal | undefined): Promise<Opening>;
  /** The session in use; makes one if there is none. */
  ensure(template: RequestTemplate, signal: AbortSignal | undefined): Promise<Confirmation>;
}

/** @param aroundRecovery runs around each recovery, to measure it */
export function createHandshake(
  context: HandshakeContext,
  aroundRecovery: AroundRecovery | undefined,
): Handshake {
  const { state, recover } = context;
  const { tasks } = state;

  const open: Handshake["open"] = (template, callerSignal) =>
    tasks.opening((signal) => openSession(context, template, signal), callerSignal);

  /** Completes the handshake, from its current stage to its end. */
  const make = async (
    template: RequestTemplate,
    signal: AbortSignal,
    finish: () => void,
  ): Promise<Confirmation> => {
    let opened = openedSession(state);
    if (opened === undefined) {
      const opening = await open(template, signal);
      if ("refused" in opening) return opening;
      ({ opened } = opening);
    }
    return await confirmSession(context, opened, template, signal, finish);
  };

  const ensure: Handshake["ensure"] = async (template, callerSignal) => {
    const live = liveSession(state);
    if (live !== undefined) return { live };
    const ensured = await tasks.ensuring(async (signal, finish) => {
      const isLost = lostSession(state) !== undefined && openedSession(state) === undefined;
      const makeSession = () => make(template, signal, finish);
      if (aroundRecovery === undefined || !recover || !isLost) return await makeSession();
      return await runAroundRecovery(aroundRecovery, makeSession);
    }, callerSignal);
    // The session may have been lost again while others waited for it.
    const isLostAgain =
      "live" in ensured && liveSession(state) === undefined && lostSession(state) !== undefined;
    return isLostAgain ? await ensure(template, callerSignal) : ensured;
  };

  return { open, ensure };
}
