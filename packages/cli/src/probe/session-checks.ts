import {
  createSessionFetch,
  createSessionSlot,
  type InitializeResult,
  parseSessionSnapshot,
} from "@durable-mcp/core";
import { classifyLoss, letGo, createScrubber, withTimeLimit } from "@durable-mcp/core/internal";
import { count } from "../output/print-values.ts";
import {
  type CheckResult,
  type Facts,
  failed,
  note,
  ok,
  type ProbeContext,
  warning,
} from "./checks.ts";
import { clientInfo, isEnded, type ProbeSession } from "./open-sessions.ts";
import { type Answer, readEvents, type Refusal, type RequestUse, type Wire } from "./wire.ts";

/** Longer words of a server are cut off. */
const maxLength = 160;

/** Reads a refusal. The body of an accepted request does not matter. */
export function refusalOf({ status, contentType, body, words }: Answer, id: string): Refusal {
  if (status < 400)
    return { status, contentType, text: "", loss: classifyLoss({ status, body: "" }) };
  const text = createScrubber([id], "<id>")(words).trim().slice(0, maxLength);
  return { status, contentType, text, loss: classifyLoss({ status, body }) };
}

/** One line, to compare and to print. */
export function describeRefusal({ status, contentType, text }: Refusal): string {
  if (status < 400) return `${status}: accepted`;
  return `${status}, ${contentType}: ${JSON.stringify(text)}`;
}

/** An id in the shape of this one, which the server never gave. */
export function neverGiven(id: string): string {
  const tail = id
    .slice(-8)
    .replaceAll(/[0-9]/g, next("0123456789"))
    .replaceAll(/[a-f]/g, next("abcdef"))
    .replaceAll(/[A-Z]/g, next("ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
  return id.slice(0, -8) + tail;
}

const next = (characters: string) => (found: string) =>
  characters[(characters.indexOf(found) + 1) % characters.length] ?? found;

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

function judge(refusal: Refusal, facts: Facts, before = ""): CheckResult {
  const { status, loss } = refusal;
  if (status < 400) {
    const says = `${status}: it is taken. A session that is lost looks like one that lives; nobody notices.`;
    return warning(before + says, facts);
  }
  const says = `${describeRefusal(refusal)}. ${consequences[loss]}`;
  return (loss === "definite" ? ok : warning)(before + says, facts);
}

/** What it says to an id that it never gave. */
export async function checkUnknownId(
  { wire }: ProbeContext,
  session: ProbeSession,
): Promise<CheckResult> {
  const sessionId = neverGiven(session.sessionId);
  const unknownId = await listWith(wire, { ...session, sessionId });
  return judge(unknownId, { unknownId });
}

/** What it says to DELETE, and to the id of the session afterwards. */
export async function checkEndedId(
  { wire, sessions }: ProbeContext,
  session: ProbeSession,
): Promise<CheckResult> {
  const ending = await sessions.end(wire, session);
  const ended = await listWith(wire, session);
  const facts = { endedId: { ...ended, ending } };
  if (ending === 405) return note("DELETE: 405. It ends sessions itself.", facts);
  const how = isEnded(ending) ? `DELETE: ${ending}` : `DELETE: ${ending}, so it may go on`;
  return judge(ended, facts, `${how}. Then `);
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
  if (answer.contentType !== "text/event-stream")
    return note(`Answers are ${answer.contentType}, without events. ${lost}`, { events: "none" });
  const [lastEventId] = answer.eventIds;
  if (lastEventId === undefined)
    return note(`Answers are events without ids. ${lost}`, { events: "without ids" });
  const { status, isReplayed } = await replay(
    wire,
    { ...use, headers: { "last-event-id": lastEventId } },
    id,
    signal,
  );
  const start = "Events have ids, and a GET with Last-Event-ID";
  if (status >= 400)
    return warning(`${start} is refused (${status}). ${lost}`, { events: "refused" });
  if (isReplayed) return ok(`${start} brings the answer again.`, { events: "replayed" });
  return note(`${start} is taken. Here nothing was left to bring again.`, { events: "accepted" });
}

/** What comes again comes at once, in milliseconds. */
const replayMs = 1_500;

async function replay(wire: Wire, use: RequestUse, id: string, signal: AbortSignal) {
  const over = withTimeLimit(replayMs, signal);
  try {
    const stream = await wire.get(use, over);
    const { status } = stream;
    if (!stream.ok) {
      letGo(stream);
      return { status, isReplayed: false };
    }
    const found = await readEvents(stream, id, String).catch(() => undefined);
    return { status, isReplayed: found?.response !== undefined };
  } catch (error) {
    signal.throwIfAborted();
    if (!over.aborted) throw error;
    return { status: 200, isReplayed: false };
  }
}

/**
 * Makes a resumed step with the session fetch itself, and counts what reaches the server: a client's whole handshake,
 * and a ping in the place of a call.
 */
export async function checkResumedStep(
  { wire: { url }, headers, signal }: ProbeContext,
  result: InitializeResult,
  session: ProbeSession | undefined,
): Promise<CheckResult> {
  const common = { version: 1, url: url.href, initializeResult: result };
  const snapshot =
    session === undefined
      ? { ...common, kind: "sessionless", keptAt: Date.now() }
      : { ...common, kind: "session", sessionId: session.sessionId, clientCapabilities: {} };
  let requests = 0;
  const countedFetch: typeof globalThis.fetch = (input, init) => {
    requests += 1;
    return fetch(input, init);
  };
  const slot = createSessionSlot(parseSessionSnapshot(snapshot));
  const sessionFetch = createSessionFetch({ url, slot, fetch: countedFetch });
  const send = async (message: object) => {
    const answer = await sessionFetch(url, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal,
    });
    return { status: answer.status, text: await answer.text() };
  };
  const params = { protocolVersion: result.protocolVersion, capabilities: {}, clientInfo };
  await send({ id: 0, method: "initialize", params });
  await send({ method: "notifications/initialized" });
  const { status, text } = await send({ id: 1, method: "ping" });
  if (status >= 400 || !text.includes('"result"'))
    return failed(`A ping in the place of a call was answered with ${status}.`);
  const what = session === undefined ? "handshake" : "session";
  const says = `With the kept ${what} a step that makes one call sends ${count(requests, "request")}.`;
  return (requests === 1 ? ok : warning)(says, { resumedRequests: requests });
}
