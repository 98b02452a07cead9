import { isRecord, letGo, wait, within } from "@durable-mcp/core/internal";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { type CallToMake, type CheckResult, ok, type ProbeContext, warning } from "./checks.ts";
import type { ProbeSession } from "./open-sessions.ts";
import { refusalOf } from "./session-checks.ts";
import type { OwnMessage, Wire } from "./wire.ts";

/** How long a stream is open before it is closed, in milliseconds. */
const openMs = 300;
/** How often a session is looked at while it is watched. */
const looks = 10;
/** Some servers send no headers before they have something to say, in milliseconds. */
const headersMs = 3_000;

/**
 * Whether a session survives a listening stream that closes.
 *
 * @param call is made while the stream is open: some servers look after their clients only once a tool was called
 */
export async function checkListening(
  { wire, signal, limits }: ProbeContext,
  session: ProbeSession,
  call?: CallToMake,
): Promise<CheckResult> {
  const closing = new AbortController();
  const opening = wire.get(session, AbortSignal.any([signal, closing.signal]));
  opening.catch(() => undefined);
  const stream = (await within(headersMs, opening)) ? await opening : undefined;
  // A session may end because nobody answers in its stream, which would say nothing of its closing.
  void answerPings(wire, session, stream);
  if (stream !== undefined && !stream.ok) {
    letGo(stream);
    const says = `GET: ${stream.status}. It offers no stream to listen on.`;
    return ok(says, { listening: { offered: false } });
  }
  if (call !== undefined) {
    const { name, args, timeoutMs } = call;
    const params = { name, arguments: args };
    // Whether it answers is the matter of another check.
    await wire
      .post({ id: "call", method: "tools/call", params }, { ...session, timeoutMs })
      .catch(() => signal.throwIfAborted());
  }
  await wait(Math.min(openMs, limits.watchMs), signal);
  const over = { listening: { offered: true, survives: false } };
  if (await isGone(wire, session))
    return warning("The session ended while its listening stream was open.", over);
  closing.abort();
  const from = Date.now();
  while (Date.now() - from < limits.watchMs) {
    await wait(limits.watchMs / looks, signal);
    if (!(await isGone(wire, session))) continue;
    const seconds = Math.round((Date.now() - from) / 1_000);
    const says = `The session ended within ${seconds} s after its listening stream closed. Leave listening off, which is the default.`;
    return warning(says, over);
  }
  const untouched =
    call === undefined
      ? " Some servers, Playwright's among them, look after their clients only once a tool was called: --call."
      : "";
  const says = `The session outlived its listening stream by ${limits.watchMs / 1_000} s.${untouched}`;
  return ok(says, { listening: { offered: true, survives: true } });
}

/** Answers what the server asks in the stream, as a client does, until it is closed. */
async function answerPings(
  wire: Wire,
  session: ProbeSession,
  stream: Response | undefined,
): Promise<void> {
  if (stream?.body == null || !stream.ok) return;
  const events = stream.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  try {
    for await (const { data } of events) {
      const answer = answerTo(data);
      if (answer !== undefined) wire.post(answer, session).catch(() => undefined);
    }
  } catch {
    // It was closed.
  }
}

async function isGone(wire: Wire, session: ProbeSession): Promise<boolean> {
  const answer = await wire.post({ id: `ping-${Date.now()}`, method: "ping" }, session);
  const { loss, status } = refusalOf(answer, session.sessionId);
  return status >= 400 && loss !== "none";
}

const methodNotFound = -32601;

/** Our answer to a request of the server: to a ping, and otherwise a refusal. `undefined` for any other message. */
function answerTo(text: string): OwnMessage | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(message) || message["jsonrpc"] !== "2.0") return undefined;
  const { id, method } = message;
  if ((typeof id !== "string" && typeof id !== "number") || typeof method !== "string") {
    return undefined;
  }
  if (method === "ping") return { id, result: {} };
  return { id, error: { code: methodNotFound, message: "The probe does not answer this." } };
}
