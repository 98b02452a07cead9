import { endUnused } from "../handshake/end-session.ts";
import { ensureSession } from "../handshake/handshake.ts";
import type { OwnRequest, SessionContext } from "../session/session-context.ts";
import { sessionIdHeader } from "../session/session-headers.ts";
import {
  compareAndClear,
  isCurrent,
  noteAnswered,
  tellNamesIgnored,
} from "../session/session-life.ts";
import type { LiveSession, NamedSession } from "../session/slot-state.ts";
import { isSessionId } from "../session/snapshot-shape.ts";
import { hasContentType, isEventStream } from "../wire/read-answer.ts";

// Some servers never refuse an id that they do not know. They carry the request out in another session,
// and its id in the answer's header is the only sign. The loss is seen late, and the other session is the
// one to go on in, if the server keeps it.

/**
 * Goes on in another session, if a 2xx answer to a request on `session` names it.
 *
 * @returns the session that carries the request out, and what to call when the answer is over
 */
export function followNamed(
  context: SessionContext,
  session: LiveSession,
  method: string,
  response: Response,
  request: OwnRequest,
): { readonly session: LiveSession; readonly whenOver: () => void } {
  const named = otherSession(context, session, response);
  if (named === undefined) {
    noteAnswered(context.state, session);
    return { session, whenOver() {} };
  }
  const lost = { session, method, status: response.status };
  return { session: named, whenOver: goOnIn(context, named, lost, request) };
}

/** The session that the answer names in place of the one that the request went out on. */
function otherSession(
  { state, emit }: SessionContext,
  session: LiveSession,
  response: Response,
): NamedSession | undefined {
  const { headers, status } = response;
  const sessionId = headers.get(sessionIdHeader);
  if (session.kind !== "session" || sessionId === null) return undefined;
  if (sessionId === session.sessionId || !isSessionId(sessionId)) return undefined;
  // A page of a proxy is no answer.
  const isMcp = isEventStream(response) || hasContentType(response, "application/json");
  if (!isMcp && status !== 202) return undefined;
  if (state.ignoresNames) {
    if (tellNamesIgnored(state)) emit({ type: "ids-vary" });
    return undefined;
  }
  const { kind, initializeResult, clientCapabilities, clientInfo } = session;
  const client = { clientCapabilities, ...(clientInfo && { clientInfo }) };
  return { kind, sessionId, initializeResult, ...client };
}

/**
 * Gives the session of a request up for the one that its answer names.
 *
 * @returns what to call when the answer is over: until then the named session carries it out
 */
function goOnIn(
  context: SessionContext,
  named: NamedSession,
  lost: { readonly session: LiveSession; readonly method: string; readonly status: number },
  { headers, init }: OwnRequest,
): () => void {
  const { state, emit, recovery } = context;
  const { session, method, status } = lost;
  const isFirst = compareAndClear(state, session, named);
  if (isFirst) emit({ type: "lost", method, status });
  // Only the next request waits for it.
  const isReplaced = isFirst && recovery.onLoss !== "report";
  const ensured = isReplaced ? ensureSession(context, { headers, init }) : undefined;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const endUnlessUsed = async () => {
    await Promise.allSettled([over, ensured]);
    if (!isCurrent(state, named)) endUnused(context, named, { headers, init });
  };
  void endUnlessUsed();
  return resolve;
}
