import { checkAuthorization, wantsAuthorization } from "./authorization.ts";
import {
  type CallToMake,
  type Checklist,
  createChecklist,
  createSecretScrubber,
  type Facts,
  note,
  ok,
  type Probe,
  type ProbeContext,
  type Row,
  warning,
} from "./checks.ts";
import { askModern, describeServer, modernVersionsIn, whyNoHandshake } from "./era-checks.ts";
import { checkListening } from "./listening-check.ts";
import {
  createOpenSessions,
  type Ending,
  type Handshake,
  isEnded,
  type ProbeSession,
} from "./open-sessions.ts";
import { checkEndedId, checkEvents, checkResumedStep, checkUnknownId } from "./session-checks.ts";
import { checkCall, checkTools } from "./tool-checks.ts";
import { type Answer, createWire } from "./wire.ts";

export interface UrlProbe extends Probe {
  readonly url: URL;
  /** Credentials, and what else is sent with each request. Secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Asks a server behind a URL. Each session that it makes is ended, whatever happens. */
export async function probeUrl(probe: UrlProbe): Promise<{ facts: Facts; rows: Row[] }> {
  const { url, headers, limits, signal, onStart } = probe;
  const sessions = createOpenSessions();
  const scrub = (text: string) => createSecretScrubber(headers, sessions.ids, url)(text);
  const wire = createWire({ url, headers, scrub, timeoutMs: limits.requestMs, signal });
  const list = createChecklist({ wire, sessions, headers, limits, signal }, onStart);
  try {
    await askAll(list, probe);
  } finally {
    onStart("ending its sessions");
    await sessions.endAll(wire);
  }
  return { facts: list.facts, rows: [...list.rows(), ...endingsRow(sessions.endings)] };
}

async function askAll(list: Checklist, probe: UrlProbe): Promise<void> {
  const { call } = probe;
  const first = await greet(list, probe);
  if (first === undefined) return;
  const { result, session } = first;
  if (result === undefined || probe.isShort) {
    await askTools(list, session, call);
    return;
  }
  if (session !== undefined) await list.run("many sessions", (c) => checkMany(c, result));
  const isAnswered = await askTools(list, session, call);
  if (!isAnswered) return;
  if (session !== undefined || list.facts.modern === undefined) {
    await list.run("a resumed step", (c) => checkResumedStep(c, result, session));
  }
  const { protocolVersion } = result;
  await list.run("interrupted answers", (c) => checkEvents(c, session, protocolVersion));
  // A call that brought nothing is not made again.
  const second = list.facts.call === undefined ? undefined : call;
  if (session !== undefined) await askOfSession(list, probe, session, second);
}

/** The first two requests, of either era. `undefined` if there is nothing more to ask. */
async function greet(list: Checklist, { headers }: UrlProbe): Promise<Handshake | undefined> {
  let handshake: Handshake | undefined;
  let refused: Answer | undefined;
  const greeted = await list.run("server", async (c) => {
    const discovered = await askModern(c.wire);
    handshake = await c.sessions.open(c.wire);
    const answers = [discovered, handshake.answer];
    refused = answers.findLast(wantsAuthorization);
    if (refused !== undefined && handshake.result === undefined) {
      return warning(`${refused.status}: it answers nobody without a sign-in.`);
    }
    const isModern = modernVersionsIn(discovered).length > 0;
    if (handshake.result !== undefined || isModern) return describeServer(discovered, handshake);
    return await whyNoHandshake(c, handshake.answer);
  });
  if (refused !== undefined && handshake?.result === undefined) {
    const answer = refused;
    await list.run("authorization", (c) => checkAuthorization(c, answer));
    return undefined;
  }
  const { modern, handshake: made } = list.facts;
  const isUsable = greeted !== undefined && (modern !== undefined || made !== undefined);
  if (!isUsable) return undefined;
  const wasSent = Object.keys(headers).length > 0;
  await list.run("authorization", async () =>
    ok(wasSent ? "The credentials given are taken." : "None asked for so far."),
  );
  await list.run("session", async () => {
    if (made?.hasSession) return ok("It names a session (Mcp-Session-Id).");
    return note(
      made ? "It initializes and names none." : "None: these revisions have no sessions.",
    );
  });
  return handshake;
}

async function checkMany(
  { wire, sessions }: ProbeContext,
  { protocolVersion }: { protocolVersion: string },
) {
  const { answer, session } = await sessions.open(wire, protocolVersion);
  const facts = { manySessions: session !== undefined };
  if (session !== undefined) {
    await sessions.end(wire, session);
    return ok("It gives each client its own.", facts);
  }
  const says = `A second client is refused (${answer.status}): one session for the whole process. The probe has used it up, so restart the server before you use it.`;
  return warning(says, facts);
}

async function askTools(
  list: Checklist,
  session: ProbeSession | undefined,
  call: CallToMake | undefined,
): Promise<boolean> {
  const listed = await list.run("tools", (c) => checkTools(c, list.facts, session));
  const called =
    call &&
    (await list.run(
      `call ${call.name}`,
      (c) => checkCall(c, list.facts, session, call),
      call.timeoutMs + 1_000,
    ));
  const refused = listed?.refused ?? called?.refused;
  if (refused === undefined) return listed?.facts?.tools !== undefined;
  await list.run("authorization", (c) => checkAuthorization(c, refused));
  return false;
}

/** What costs a session comes last. */
async function askOfSession(
  list: Checklist,
  { limits: { requestMs, watchMs } }: Probe,
  session: ProbeSession,
  call: CallToMake | undefined,
): Promise<void> {
  const isOnly = list.facts.manySessions !== true;
  /** Another session, or the only one. */
  const another = async ({ sessions, wire }: ProbeContext) => {
    const opened = isOnly ? session : (await sessions.open(wire)).session;
    if (opened === undefined) throw new Error("It gave no further session.");
    return opened;
  };
  await list.run("an unknown id", (c) => checkUnknownId(c, session));
  const watched = list.run(
    "a listening stream that closes",
    async (c) => await checkListening(c, await another(c), call),
    watchMs + 10 * requestMs + (call?.timeoutMs ?? 0),
  );
  // It is awaited below, unless something ends the probe before.
  watched.catch(() => undefined);
  // A session that is the only one may be gone after that.
  if (isOnly) await watched;
  await list.run("an ended id", async (c) => checkEndedId(c, await another(c)));
  await watched;
}

function endingsRow(endings: readonly Ending[]): Row[] {
  if (endings.length === 0) return [];
  const left = endings.filter((ending) => !isEnded(ending));
  const check = "what the probe leaves";
  const all = endings.length === 1 ? "Its one session" : `All its ${endings.length} sessions`;
  if (endings.every((ending) => ending === 405))
    return [{ check, ...note(`${all}: the server ends sessions itself (405).`) }];
  if (left.length === 0) return [{ check, ...ok(`Nothing. ${all} ended.`) }];
  const answers = [...new Set(left)].join(", ");
  const says = `${left.length} of its ${endings.length} sessions: DELETE was answered with ${answers}.`;
  return [{ check, ...warning(says) }];
}
