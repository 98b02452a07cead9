import type { RequestTemplate } from "../session/session-context.ts";
import {
  type Confirmation,
  liveSession,
  lostSession,
  openedSession,
  type Opening,
} from "../session/session-life.ts";
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

/** The outcome of a recovery. Without a `status` a new session took the place of the lost one. */
export interface RecoveryOutcome {
  /** The HTTP status with which the server refused a new session. */
  readonly status?: number | undefined;
}

/**
 * Runs around each recovery, in the asynchronous context of the request that met the loss. Use it to
 * measure recoveries. It calls `recover`, which rejects if the recovery fails without a refusal. Its own
 * result or error changes nothing.
 */
export type AroundRecovery = (recover: () => Promise<RecoveryOutcome>) => Promise<unknown>;

/** Makes the new session exactly once, whatever `around` does. */
export async function runAroundRecovery<T extends object>(
  around: AroundRecovery,
  make: () => Promise<T & { readonly refused?: RecoveryOutcome }>,
): Promise<T> {
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
