import { isRecord, oneLine } from "@durable-mcp/core/internal";
import { describeWaiting, openCalls, type WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { age } from "./page.ts";

const { defaultClaimMs } = openCalls;

/** The tool or prompt of a call, or the resource's URI. */
export function toolOf(call: WaitingRecord): string {
  return oneLine(describeWaiting(call).tool, 80);
}

/** Whether a server wants its user to open a page, which nobody else can. */
function isForUser({ requests }: WaitingRecord): boolean {
  return Object.values(requests).some(({ params }) => isRecord(params) && params["mode"] === "url");
}

/** Whether somebody can answer a call now. */
export function takesAnswer(call: WaitingRecord, now: number): boolean {
  const isAsked = call.type === "question" && call.state === "waiting";
  return isAsked && !isLate(call, now) && !isForUser(call);
}

/** A look writes nothing, so time has not ended the call in the store yet. */
function isLate({ state, pollAfter, expiresAt }: WaitingRecord, now: number): boolean {
  return state === "waiting" && pollAfter === undefined && expiresAt <= now;
}

/** What an open call waits for, or why it stands still, in words. */
export function waitsFor(call: WaitingRecord, now: number): string {
  const { type, state, connection, claim, pollAfter, held } = call;
  if (type === "sub-agent") return "the calls of its sub-agent, which are listed too";
  if (isLate(call, now))
    return "nobody: its time is up, and the chat's next step tells the model so";
  const isHeld = pollAfter !== undefined;
  if (state === "answering" || (type === "stream" && !isHeld)) {
    const silentMs = claim && now - claim.at;
    if (silentMs !== undefined && silentMs > defaultClaimMs)
      return `a process that has been silent for ${age(silentMs)}, so it was probably killed. It goes on when the user writes again, or when the application calls admin.check`;
    return "a process that works on it";
  }
  switch (type) {
    case "question":
      return isForUser(call)
        ? "the user, who has to open a page of the server"
        : "the user's answer to a question of the server";
    case "call-waits-for-sign-in":
      return `the user, who has to sign in to ${connection}. Then the chat's next step makes the call`;
    case "task": {
      const { status = "", statusMessage } = held?.type === "task" ? held : {};
      const said = [status, statusMessage].filter(Boolean).join(": ");
      return `its server, which works on it as a task${said ? ` (${oneLine(said)})` : ""}. ${nextLook(call, now)}`;
    }
    case "watch": {
      const { news = 0 } = held?.type === "watch" ? held : {};
      const said =
        news > 0
          ? ` ${news} of them ${news === 1 ? "waits" : "wait"} for the chat's next step.`
          : "";
      return `news of its server: it watches.${said} ${nextLook(call, now)}`;
    }
    default:
      return `its server, whose answer comes on a stream. ${nextLook(call, now)}`;
  }
}

function nextLook({ pollAfter, failingSince }: WaitingRecord, now: number): string {
  const lateMs = now - (pollAfter ?? now);
  if (lateMs < defaultClaimMs && failingSince === undefined) return "Nobody has to do anything";
  if (lateMs < defaultClaimMs)
    return `But every look has failed for ${age(now - failingSince!)}: it is away, or refuses. The call goes on when one succeeds`;
  return `Nobody has looked for ${age(lateMs)}: does the application call admin.check or run a step?`;
}

/** What became of a call that is over. */
export function outcomeOf({ state, answer, isDelivered, by }: WaitingRecord): string {
  const of = by === undefined ? "" : ` by ${oneLine(by, 80)}`;
  if (state === "outcome-unknown")
    return `nobody knows whether it was carried out${of && `, after an answer${of}`}`;
  if (state === "withdrawn") return `withdrawn${of}`;
  if (state !== "settled") return state;
  const what = `answered${of}${answer?.error === undefined ? "" : ", and ended with an error"}`;
  return `${what}; ${isDelivered ? "the chat has it" : "the chat's next step gets it"}`;
}
