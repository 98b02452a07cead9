import type { BoundedRequest, SessionContext } from "../session/session-context.ts";
import type { ToolChanges } from "../session/session-event.ts";
import { liveSession } from "../session/session-life.ts";
import type { ActiveSessionSnapshot, ToolDefinition } from "../session/session-snapshot.ts";
import { scrubStrings } from "../wire/scrub-session-id.ts";
import { askForTools } from "./ask-for-tools.ts";
import { compareTools } from "./compare-tools.ts";
import { keptList, observeTools } from "./tool-list.ts";

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

/** Reports how a list differs from the one before, by the tools' names. */
export function tellChanges(
  { state, emit }: SessionContext,
  reason: "new-list" | "new-session",
  before: readonly ToolDefinition[],
  tools: readonly ToolDefinition[],
): void {
  const changes = compareTools(before, tools);
  if (!changes) return;
  // A server without sessions names none.
  const { sessionId = "" } = { ...liveSession(state) } as { sessionId?: string };
  emit({ type: "tools-changed", reason, ...(scrubStrings(changes, sessionId) as ToolChanges) });
}
