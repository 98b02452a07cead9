import type { BoundedRequest, FeatureOf, SessionContext } from "../session/session-context.ts";
import type { ToolChanges } from "../session/session-event.ts";
import type { SessionFeature } from "../session/session-fetch-options.ts";
import { liveSession } from "../session/session-life.ts";
import type { ActiveSessionSnapshot, ToolDefinition } from "../session/session-snapshot.ts";
import { observeStandingRequests, repeatStandingRequests } from "../session/standing-requests.ts";
import { scrubStrings } from "../wire/scrub-session-id.ts";
import { askForTools } from "./ask-for-tools.ts";
import { compareTools } from "./compare-tools.ts";
import { keptList, observeTools } from "./tool-list.ts";

/**
 * For `createSessionFetch({ continuity })`: goes on where a lost session was. After a recovery it subscribes
 * to the client's resources again, sets its log level again and lists the tools again. The event
 * `tools-changed` then names the tools in which a new list differs.
 */
export function createContinuity(): SessionFeature<"Continuity"> {
  const continuity: FeatureOf<"continuity", "Continuity"> = {
    feature: "Continuity",
    observe: observeStandingRequests,
    compare: (context, before, tools) => tellChanges(context, "new-list", before, tools),
    restore: (context, session, standing, lost, request) =>
      Promise.all([
        repeatStandingRequests(context, session, standing, request),
        lost && relistTools(context, lost, request),
      ]),
  };
  return continuity;
}

/**
 * Lists the tools of a replacement session, if the lost session had a kept list. Clients with the old
 * list do not ask again, and the next step should not have to. Best effort: if it fails, the next
 * `tools/list` goes to the server.
 */
async function relistTools(
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
function tellChanges(
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
