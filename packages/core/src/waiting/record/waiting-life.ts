import { isPrintable } from "../../base/json-values.ts";
import { randomToken } from "../../base/random-token.ts";
import { serverLimits } from "../../base/server-limits.ts";
import { hasBytes } from "../../stores/store-arguments.ts";
import type { InputRequest } from "../questions/input-request.ts";
import { fateOf } from "./waiting-call.ts";
import type { Held, HeldWatch } from "./held.ts";
import {
  type AgentCall,
  commonOf,
  type EndedCall,
  type HeldCall,
  newestVersion,
  type OpenCall,
  printWaitingRecord,
  type ShownRound,
  type WaitingAnswer,
  type WaitingRecord,
  type WatchCall,
} from "./waiting-record.ts";

/*
 * The life of a waiting call: every change of its state.
 *
 *     waiting → answering → waiting (the next round) | settled | expired | outcome-unknown
 *     waiting → expired | withdrawn
 *
 * A call that waits for a sign-in is claimed in the same way, and sent for the first time. Its server may ask then.
 * So is one that its server keeps, as a task or a stream, to look at it or to answer it.
 */

/** A call whose JSON is longer, in characters, is not kept with questions. The rest is for its result. */
const maxAskedLength = 500_000;
/** With its result a call is not longer than this, in characters. A store takes records of a million. */
const maxSettledLength = 950_000;

/** A server's questions, as an `input_required` result has them. */
export interface Question {
  readonly requests: Readonly<Record<string, InputRequest>>;
  readonly requestState?: string | undefined;
  /** Whether the call was refused until a person has been at a URL, and takes no answers. @default false */
  readonly isRefused?: true | undefined;
  /** What the server keeps of the call that asks. @default nothing: the call is sent again with the answers */
  readonly held?: Held | undefined;
  /** Answers to others that may be lost. @default none */
  readonly unsure?: WaitingRecord["unsure"];
}

/**
 * The server asks, for the first time or again. The questions before it, and their state, are over. If they are too
 * long to be kept, the call is settled with an error.
 */
export function asks(
  before: OpenCall,
  { requests, requestState, isRefused, held, unsure }: Question,
  {
    now,
    maxAgeMs,
    maxBytes,
  }: { readonly now: number; readonly maxAgeMs: number; readonly maxBytes?: number | undefined },
): WaitingRecord {
  const { claim: _, ...call } = commonOf(before);
  const asked: OpenCall = {
    ...call,
    ...{ type: "question", state: "waiting", round: call.round + 1, leg: randomToken(), requests },
    ...(requestState !== undefined && { requestState }),
    ...(isRefused && { isRefused }),
    ...(held !== undefined && { version: newestVersion, held }),
    ...((held ?? call.due) !== undefined && { due: otherEntry(call) }),
    ...(unsure !== undefined && { unsure }),
    askedAt: now,
    expiresAt: now + maxAgeMs,
  };
  if (isKeepable(asked, maxBytes)) return asked;
  const most =
    printedLength(asked) > maxAskedLength ? `${maxAskedLength} characters` : `${maxBytes} bytes`;
  const message = `The server asked for input. The call with its questions ${sizeOf(asked)}, more than the ${most} that can wait. ${fateOf(held?.type ?? "question")}.`;
  return settles(before, { error: { code: -32_603, message } });
}

/** The server keeps the call, and goes on with it. The questions so far have their answers, but for those that may be lost. */
export function goesOn(
  before: OpenCall,
  {
    held,
    pollMs,
    unsure,
  }: Pick<Question, "unsure"> & { readonly held: Held; readonly pollMs: number },
  now: number,
): HeldCall {
  const { claim: _, due, ...call } = commonOf(before);
  return {
    ...call,
    ...{ version: newestVersion, state: "waiting", leg: randomToken() },
    ...heldAs(held),
    ...{ requests: {}, pollAfter: now + Math.ceil(Math.min(pollMs, serverLimits.pauseMs)) },
    // A look finds its call later than the look before.
    due: before.pollAfter === undefined ? otherEntry({ due }) : (due ?? randomToken()),
    ...(unsure !== undefined && { unsure }),
  };
}

/** The fields of a call that say how its server keeps it. */
export function heldAs(held: Held) {
  if (held.type === "task") return { type: held.type, held };
  return held.type === "watch" ? { type: held.type, held } : { type: held.type, held };
}

/**
 * A step watches for longer, or at other times, or has taken news. Who looks meanwhile counts as dead: the next look
 * finds what that one has found. The call's entry has to be as early, and last as long.
 */
export function renews(
  call: WatchCall,
  { expiresAt, ...next }: Pick<WatchCall, "expiresAt"> & Pick<HeldWatch, "intervalMs" | "news">,
  now: number,
): WatchCall {
  const isSoon = call.pollAfter > now && call.pollAfter <= now + next.intervalMs;
  const pollAfter = isSoon ? call.pollAfter : now + next.intervalMs;
  const isLater = pollAfter >= call.pollAfter && expiresAt === call.expiresAt;
  const due = isLater || call.due === undefined ? call.due : otherEntry(call);
  const { claim: _, ...kept } = call;
  return { ...kept, state: "waiting", due, expiresAt, pollAfter, held: { ...call.held, ...next } };
}

/** Whether a call waits for its server, which keeps it: somebody has to look at it, until it is over or asks a person. */
export function isHeld(call: WaitingRecord): call is HeldCall {
  return call.pollAfter !== undefined;
}

/** A process claims the call, and sends a leg. */
export function claims<CALL extends OpenCall>(call: CALL, token: string, now: number): CALL {
  const due = call.pollAfter === undefined && call.due !== undefined && { due: otherEntry(call) };
  return { ...call, state: "answering", claim: { token, at: now }, ...due };
}

/** Names another entry of the same call, which is due earlier than before, or expires later. */
function otherEntry({ due = "" }: Pick<WaitingRecord, "due">): string {
  return due.slice(0, due.lastIndexOf(".") + 1) + randomToken();
}

/** Whether a call waits or is being answered. */
export function isOpen(call: WaitingRecord): call is OpenCall {
  return call.state === "waiting" || call.state === "answering";
}

/**
 * The leg was not carried out, or may be carried out twice, so the call still waits, for another leg. The claim
 * stays: a leg that was given up for dead may still end.
 */
export function unclaims(claimed: OpenCall): OpenCall {
  const call: OpenCall = { ...claimed, state: "waiting", leg: randomToken() };
  if (call.unsure === undefined) return call;
  const unsure = answersWhere(call.unsure, (key) => !Object.hasOwn(call.requests, key));
  return { ...call, unsure };
}

/**
 * The server has answered. What was only for the way there is forgotten. In the place of a result that is too long
 * stands a note for the model.
 */
export function settles(call: OpenCall, answer: WaitingAnswer): EndedCall {
  const settled: EndedCall = { ...over(call, "settled"), answer };
  return printedLength(settled) <= maxSettledLength ? settled : settlesLost(call, answer);
}

/** A call whose result is too long to be kept. It stays on a server that keeps the call, until it is delivered. */
export function settlesLost(call: OpenCall, answer: WaitingAnswer): EndedCall {
  if (call.held) return { ...over(call, "settled"), held: call.held };
  const text = `The call was carried out. Its result ${sizeOf(answer)}, more than can be kept for a call that has waited, so it is lost.`;
  const content = [{ type: "text", text }];
  const note =
    call.request.method === "tools/call"
      ? { result: { resultType: "complete", content, isError: true } }
      : { error: { code: -32_603, message: text } };
  return { ...over(call, "settled"), answer: note };
}

/** Nobody can or shall answer any more, or nobody knows whether the last leg was carried out. */
export function over(before: OpenCall, state: EndedCall["state"]): EndedCall {
  const { type, held, isStandIn } = before;
  return { ...commonOf(before), type: held?.type ?? type, state, ...(isStandIn && { isStandIn }) };
}

/** A graph shows the questions of the call's round in an interrupt. */
export function shows(call: OpenCall, shown: ShownRound): OpenCall {
  return { ...call, shown: [...(call.shown ?? []), shown] };
}

/** Calls of the agents in a tool call wait, perhaps others than before. */
export function waitsOn(
  before: OpenCall,
  { histories, waitsFor }: Pick<AgentCall, "histories" | "waitsFor">,
): AgentCall {
  // Messages are JSON once they are stored.
  const kept = JSON.parse(JSON.stringify(histories)) as typeof histories;
  const call = { ...commonOf(before), leg: randomToken(), histories: kept, waitsFor };
  return { ...call, type: "sub-agent", state: "waiting" };
}

/** A model has made the call again while it waits. */
export function isRepeated(call: WaitingRecord, ...ids: string[]): WaitingRecord {
  return { ...call, repeatedBy: [...(call.repeatedBy ?? []), ...ids] };
}

/** Whether the result of a settled call is on its server, and only there. */
export function isOnServer({ state, held, answer }: WaitingRecord): boolean {
  return state === "settled" && held !== undefined && answer === undefined;
}

/** The result is in a conversation. One that is too long to be kept stays where it is. */
export function delivers(call: EndedCall): EndedCall {
  const { answer, ...others } = call;
  return { ...others, ...(!call.held && answer && { answer }), isDelivered: true };
}

/** Some of the answers; `undefined` for none. */
export function answersWhere(
  answers: WaitingRecord["unsure"] = {},
  isWanted: (key: string) => boolean,
): WaitingRecord["unsure"] {
  const wanted = Object.entries(answers).filter(([key]) => isWanted(key));
  return wanted.length > 0 ? Object.fromEntries(wanted) : undefined;
}

/** Whether a call that waits is short enough to be kept. @param maxBytes what the store takes */
export function isKeepable(call: WaitingRecord, maxBytes?: number): boolean {
  if (printedLength(call) > maxAskedLength) return false;
  return maxBytes === undefined || hasBytes(JSON.stringify(printWaitingRecord(call)), maxBytes);
}

/** In characters of JSON. What is nested too deep to be printed can be kept nowhere. */
function printedLength(value: unknown): number {
  return isPrintable(value) ? JSON.stringify(value).length : Number.POSITIVE_INFINITY;
}

function sizeOf(value: unknown): string {
  const length = printedLength(value);
  return Number.isFinite(length) ? `has ${length} characters` : "is nested too deep";
}
