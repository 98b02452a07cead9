import { createRestorer } from "../src/answer/restore-answer.ts";
import type { SessionContext } from "../src/session/session-context.ts";
import type { SessionEvent } from "../src/session/session-event.ts";
import { createSessionSlot, slotState } from "../src/session/session-slot.ts";
import { createRequestIds, type PendingRequest } from "../src/wire/request-ids.ts";
import { sessionSnapshot } from "./session-snapshot.ts";

const url = new URL("http://127.0.0.1/mcp");

/** The requests of a session in use, and what restores their answers. */
export function startRestoring() {
  const snapshot = sessionSnapshot(url.href);
  const slot = createSessionSlot(snapshot);
  const events: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void events.push(event);
  const ids = createRequestIds();
  const own = { url, ids, state: slotState(slot), toolList: {}, onEvent, emit: onEvent };
  const notes = { questions: { open: new Map() }, pagesBefore: new Map(), now: Date.now };
  const context = { ...own, ...notes } as Partial<SessionContext> as SessionContext;
  /** @param pending the request of the HTTP answer */
  const restorerOf = (pending?: PendingRequest) =>
    createRestorer(context, pending, () => snapshot, null, false);
  return { ids, slot, events, restorerOf };
}
