import { letGo, withTimeLimit } from "@durable-mcp/core/internal";
import type { CheckResult, ProbeContext } from "./checks.ts";
import { isEnded, type ProbeSession } from "./open-sessions.ts";
import { describeRefusal, neverGiven, type Refusal, refusalOf } from "./refusal.ts";
import { readEvents, type Wire } from "./wire.ts";

/** What becomes of a call that meets such a refusal, in durable-mcp's hands. */
const consequences = {
  definite: "A loss (definite): durable-mcp opens another session and sends the call again.",
  probable:
    "A loss (probable): durable-mcp opens another session, and sends again what is safe to repeat.",
  none: "Not read as a loss: the call fails with this answer.",
} as const;

/** Lists the tools with this id. */
export async function listWith(wire: Wire, session: ProbeSession): Promise<Refusal> {
  const answer = await wire.post({ id: 2, method: "tools/list", params: {} }, session);
  return refusalOf(answer, session.sessionId);
}

function judge(refusal: Refusal): Pick<CheckResult, "outcome" | "says"> {
  if (refusal.status < 400) {
    return {
      outcome: "warning",
      says: `${refusal.status}: it is taken. A session that is lost looks like one that lives; nobody notices.`,
    };
  }
  const outcome = refusal.loss === "definite" ? "ok" : "warning";
  return { outcome, says: `${describeRefusal(refusal)}. ${consequences[refusal.loss]}` };
}

/** What it says to an id that it never gave. */
export async function checkUnknownId(
  { wire }: ProbeContext,
  session: ProbeSession,
): Promise<CheckResult> {
  const sessionId = neverGiven(session.sessionId);
  const unknownId = await listWith(wire, { ...session, sessionId });
  return { ...judge(unknownId), facts: { unknownId } };
}

/** What it says to DELETE, and to the id of the session afterwards. */
export async function checkEndedId(
  { wire, sessions }: ProbeContext,
  session: ProbeSession,
): Promise<CheckResult> {
  const ending = await sessions.end(wire, session);
  const ended = await listWith(wire, session);
  const facts = { endedId: { ...ended, ending } };
  if (ending === 405) {
    const says = "DELETE: 405. It ends sessions itself.";
    return { outcome: "note", says, facts };
  }
  const { outcome, says } = judge(ended);
  const how = isEnded(ending) ? `DELETE: ${ending}` : `DELETE: ${ending}, so it may go on`;
  return { outcome, says: `${how}. Then ${says}`, facts };
}

/** Whether an interrupted answer can be had again: event ids, and a GET that names one. */
export async function checkEvents(
  { wire, signal }: ProbeContext,
  session: ProbeSession | undefined,
  protocolVersion: string,
): Promise<CheckResult> {
  const use = { ...session, protocolVersion };
  const id = "events";
  const answer = await wire.post({ id, method: "tools/list", params: {} }, use);
  const lost = "An answer that breaks off is OUTCOME_UNKNOWN.";
  if (answer.contentType !== "text/event-stream") {
    const says = `Answers are ${answer.contentType}, without events. ${lost}`;
    return { outcome: "note", says, facts: { events: "none" } };
  }
  const [first] = answer.eventIds;
  if (first === undefined) {
    const says = `Answers are events without ids. ${lost}`;
    return { outcome: "note", says, facts: { events: "without ids" } };
  }
  const { status, replayed } = await replay(wire, { ...use, lastEventId: first, id, signal });
  if (status >= 400) {
    const says = `Events have ids, and a GET with Last-Event-ID is refused (${status}). ${lost}`;
    return { outcome: "warning", says, facts: { events: "refused" } };
  }
  if (replayed) {
    const says = "Events have ids, and a GET with Last-Event-ID brings the answer again.";
    return { outcome: "ok", says, facts: { events: "replayed" } };
  }
  const says =
    "Events have ids, and a GET with Last-Event-ID is taken. Here nothing was left to bring again.";
  return { outcome: "note", says, facts: { events: "accepted" } };
}

/** What comes again comes at once, in milliseconds. */
const replayMs = 1_500;

async function replay(
  wire: Wire,
  {
    lastEventId,
    id,
    signal,
    ...use
  }: { lastEventId: string; id: string; signal: AbortSignal; protocolVersion: string },
): Promise<{ status: number; replayed: boolean }> {
  const over = withTimeLimit(replayMs, signal);
  const headers = { "last-event-id": lastEventId };
  try {
    const stream = await wire.get({ ...use, headers }, over);
    if (!stream.ok) letGo(stream);
    if (!stream.ok) return { status: stream.status, replayed: false };
    const { response } = await readEvents(stream, id, String).catch(() => ({
      response: undefined,
    }));
    return { status: stream.status, replayed: response !== undefined };
  } catch (error) {
    signal.throwIfAborted();
    if (!over.aborted) throw error;
    return { status: 200, replayed: false };
  }
}
