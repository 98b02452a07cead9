import { timeLimited } from "../base/bounded-wait.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";
import { type OwnRequest, type SessionContext, sendOwn } from "./session-context.ts";
import type { LiveSession } from "./slot-state.ts";

const timeoutMs = 5_000;

/**
 * Pings the server on a session.
 *
 * @returns what `read` makes of the answer; `undefined` without an answer within 5 seconds
 */
export async function pingOn<T>(
  context: SessionContext,
  session: LiveSession,
  request: OwnRequest,
  read: (response: Response) => T | Promise<T>,
): Promise<T | undefined> {
  const ping = { method: "ping", id: context.ids.next() };
  const asking = timeLimited(timeoutMs, request.signal, async (signal) => {
    const sending = sendOwn(context, session, ping, { ...request, signal });
    return await read(await answerOrReason(sending, signal));
  });
  return await asking.catch(() => undefined);
}
