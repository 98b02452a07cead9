import { letGo, wait } from "@durable-mcp/core/internal";
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
  const over = AbortSignal.any([signal, AbortSignal.timeout(replayMs)]);
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

/** How long a stream is open before it is closed, in milliseconds. */
const openMs = 300;
/** How often a session is looked at while it is watched. */
const looks = 10;
/** Some servers send no headers before they have something to say, in milliseconds. */
const headersMs = 3_000;

/**
 * Whether a session survives a listening stream that closes.
 *
 * @param beforeClosing what is done with the session while the stream is open
 */
export async function checkListening(
  { wire, signal, limits }: ProbeContext,
  session: ProbeSession,
  beforeClosing?: () => Promise<void>,
): Promise<CheckResult> {
  const closing = new AbortController();
  const stream = await openStream(wire, session, AbortSignal.any([signal, closing.signal]));
  if (stream !== undefined && !stream.ok) {
    letGo(stream);
    const says = `GET: ${stream.status}. It offers no stream to listen on.`;
    await beforeClosing?.();
    return { outcome: "ok", says, facts: { listening: { offered: false } } };
  }
  await beforeClosing?.();
  await wait(Math.min(openMs, limits.watchMs), signal);
  if (await isGone(wire, session)) {
    const says = "The session ended while its listening stream was open.";
    return { outcome: "warning", says, facts: { listening: { offered: true, survives: false } } };
  }
  closing.abort();
  const from = Date.now();
  while (Date.now() - from < limits.watchMs) {
    await wait(limits.watchMs / looks, signal);
    if (!(await isGone(wire, session))) continue;
    const seconds = Math.round((Date.now() - from) / 1_000);
    return {
      outcome: "warning",
      says: `The session ended within ${seconds} s after its listening stream closed. Leave listening off, which is the default.`,
      facts: { listening: { offered: true, survives: false } },
    };
  }
  const untouched =
    beforeClosing === undefined
      ? " Some servers, Playwright's among them, look after their clients only once a tool was called: --call."
      : "";
  return {
    outcome: "ok",
    says: `The session outlived its listening stream by ${limits.watchMs / 1_000} s.${untouched}`,
    facts: { listening: { offered: true, survives: true } },
  };
}

/** `undefined` for a stream whose headers have not come. */
async function openStream(
  wire: Wire,
  session: ProbeSession,
  signal: AbortSignal,
): Promise<Response | undefined> {
  const opening = wire.get(session, signal);
  opening.catch(() => undefined);
  return await Promise.race([opening, wait(headersMs, signal).then(() => undefined)]);
}

async function isGone(wire: Wire, session: ProbeSession): Promise<boolean> {
  const answer = await wire.post({ id: `ping-${Date.now()}`, method: "ping" }, session);
  const { loss, status } = refusalOf(answer, session.sessionId);
  return status >= 400 && loss !== "none";
}
