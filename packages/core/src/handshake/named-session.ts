import { pingOn } from "../session/ping.ts";
import type { BoundedRequest, SessionContext } from "../session/session-context.ts";
import { sessionIdHeader } from "../session/session-headers.ts";
import { enterOpened, giveUpNamed, namedInstead } from "../session/session-life.ts";
import type { NamedSession } from "../session/slot-state.ts";
import { letGo } from "../wire/read-answer.ts";

/** Opens the session that an answer named, if there is one and the server keeps it. */
export async function openNamed(
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
  if (pinged !== named.sessionId) {
    giveUpNamed(state, pinged !== undefined);
    return undefined;
  }
  enterOpened(state, named);
  return named;
}
