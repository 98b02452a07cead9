import { timeLimited } from "../base/bounded-wait.ts";
import type { BoundedRequest, SessionContext } from "../session/session-context.ts";
import {
  type ActiveSessionSnapshot,
  isKeepable,
  type ToolList,
} from "../session/session-snapshot.ts";
import { askForTools } from "./ask-for-tools.ts";

/**
 * With `firstList`: lists the tools of a new session before it is saved, for clients that list next. Their list is
 * answered from it, and the session and its tools are one save.
 *
 * Best effort, and within half of the handshake's time: if it fails, the client's own `tools/list` goes to the
 * server. A list that is too large to save answers that, too.
 *
 * @returns the tools, if they can be saved
 */
export async function listFirst(
  context: SessionContext,
  session: ActiveSessionSnapshot,
  request: BoundedRequest,
): Promise<ToolList | undefined> {
  const { state, now, initializeMs, firstList } = context;
  if (!firstList || session.initializeResult.capabilities["tools"] == null) return undefined;
  try {
    // Whoever lists next has a time limit, too.
    const tools = await timeLimited(
      initializeMs / 2,
      request.signal,
      (signal) => askForTools(context, session, { ...request, signal }),
      leftToClient(),
    );
    const list = { tools, listedAt: now() };
    const { maxLength = 200_000 } = context.toolList;
    const isShort = JSON.stringify(tools).length <= maxLength;
    state.tools.local = { session, list };
    return isShort && isKeepable({ ...session, toolList: list }) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** No time-out: a server that is slow here may not be taken for one that hangs. */
function leftToClient(): DOMException {
  return new DOMException("The list is left to the client.", "AbortError");
}
