import type { CheckResult, ProbeContext } from "./checks.ts";
import type { ProbeSession } from "./open-sessions.ts";
import type { Answer, OwnMessage, Wire } from "./wire.ts";

/** Of quick requests; each pair has an id of its own. */
const rounds = 10;
/** Answers to quick requests come at once; one that does not come is lost. In milliseconds. */
const quickMs = 3_000;
/** The second caller comes while the first one's call is under way, in milliseconds. */
const laterMs = 50;

/** A slow request, whose answer looks like no tool list. */
export interface SlowRequest {
  readonly message: OwnMessage;
  readonly timeoutMs: number;
}

/**
 * Whether two callers on one session get each other's answers when they number their requests alike, as all clients
 * do.
 *
 * @param slow the request of the first caller. @default a ping
 */
export async function checkEqualIds(
  { wire, signal }: ProbeContext,
  session: ProbeSession,
  slow?: SlowRequest,
): Promise<CheckResult> {
  for (let round = 0; round < (slow === undefined ? rounds : 1); round += 1) {
    signal.throwIfAborted();
    const seen = await sendBoth(wire, session, `equal-${round}`, slow);
    if (seen === undefined) continue;
    return {
      outcome: "note",
      says: `They cross: ${seen} durable-mcp gives each request an id of its own, so its callers do not.`,
      facts: { equalIds: "crossed" },
    };
  }
  const which = slow === undefined ? `${rounds} pairs of quick requests` : "a call and a list";
  const hint = slow === undefined ? " Slow calls might: --call." : "";
  return {
    outcome: "ok",
    says: `${which} did not cross.${hint} durable-mcp gives each request an id of its own all the same.`,
    facts: { equalIds: "not seen to cross" },
  };
}

async function sendBoth(
  wire: Wire,
  session: ProbeSession,
  id: string,
  slow: SlowRequest | undefined,
): Promise<string | undefined> {
  const { message = { method: "ping" }, timeoutMs = quickMs } = slow ?? {};
  const first = wire.post({ ...message, id }, { ...session, timeoutMs });
  const list = new Promise((resolve) => {
    setTimeout(resolve, slow === undefined ? 0 : laterMs);
  }).then(() => wire.post({ id, method: "tools/list", params: {} }, { ...session, timeoutMs }));
  const [one, other] = await Promise.allSettled([first, list]);
  if (isList(one)) return `${message.method} was answered with the tools.`;
  if (isAnswered(other) && !isList(other)) return "tools/list got the answer of the other.";
  // A server that refuses the second request with this id loses nothing.
  if (isMissing(one)) return `the answer to ${message.method} never came.`;
  return isMissing(other) ? "the answer to tools/list never came." : undefined;
}

type Settled = PromiseSettledResult<Answer>;

const isAnswered = (settled: Settled) =>
  settled.status === "fulfilled" && settled.value.response?.result !== undefined;

const isList = (settled: Settled) =>
  settled.status === "fulfilled" && Array.isArray(settled.value.response?.result?.["tools"]);

/** Neither an answer nor a refusal. */
const isMissing = (settled: Settled) =>
  settled.status === "rejected" ||
  (settled.value.status < 400 && settled.value.response === undefined);
