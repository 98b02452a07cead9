import { timeLimited } from "../base/bounded-wait.ts";
import { type BoundedRequest, type SessionContext, sendOwn } from "../session/session-context.ts";
import { sessionIdHeader } from "../session/session-headers.ts";
import { enterOpened, giveUpNamed, namedInstead } from "../session/session-life.ts";
import type { NamedSession } from "../session/slot-state.ts";
import { letGo } from "../wire/read-answer.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";

const pingTimeoutMs = 5_000;

/** Opens the session that an answer named, if there is one and the server keeps it. */
export async function openNamed(
  context: SessionContext,
  request: BoundedRequest,
): Promise<NamedSession | undefined> {
  const { state } = context;
  const named = namedInstead(state);
  if (named === undefined) return undefined;
  const pinged = await askFor(context, named, request);
  request.signal.throwIfAborted();
  if (pinged !== named.sessionId) {
    giveUpNamed(state, pinged !== undefined);
    return undefined;
  }
  enterOpened(state, named);
  return named;
}

/** The session that the server answers a ping on the named session in; `undefined` without an answer. */
async function askFor(
  context: SessionContext,
  named: NamedSession,
  request: BoundedRequest,
): Promise<string | undefined> {
  const ping = { method: "ping", id: context.ids.next() };
  try {
    return await timeLimited(pingTimeoutMs, request.signal, async (signal) => {
      const sending = sendOwn(context, named, ping, { ...request, signal });
      const response = await answerOrReason(sending, signal);
      await letGo(response);
      const { headers, ok } = response;
      return ok ? (headers.get(sessionIdHeader) ?? named.sessionId) : undefined;
    });
  } catch {
    return undefined;
  }
}
