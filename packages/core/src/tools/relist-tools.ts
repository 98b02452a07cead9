import type { BoundedRequest, SessionContext } from "../session/session-context.ts";
import { liveSession } from "../session/session-life.ts";
import type { ActiveSessionSnapshot } from "../session/session-snapshot.ts";
import { askForTools } from "./ask-for-tools.ts";
import { keptList, observeTools, tellChanges } from "./tool-list.ts";

/**
 * Lists the tools of a replacement session, if the lost session had a kept list. Clients with the old
 * list do not ask again, and the next step should not have to. Best effort: if it fails, the next
 * `tools/list` goes to the server.
 */
export async function relistTools(
  context: SessionContext,
  lost: ActiveSessionSnapshot,
  request: BoundedRequest,
): Promise<void> {
  const { state } = context;
  const before = lost.toolList ?? state.tools.local?.list;
  if (before === undefined) return;
  try {
    if (keptList(context) === undefined) {
      await askForTools(context, liveSession(state), request, {
        onPage: (page, message) => observeTools(context, page, message),
      });
    }
  } catch {
    return;
  }
  const listed = keptList(context)?.tools;
  if (listed) tellChanges(context, "new-session", before.tools, listed);
}
