import { randomToken } from "../base/random-token.ts";
import type { InputRequest } from "./input-request.ts";
import type { ShownRound, WaitingAnswer, WaitingRecord } from "./waiting-record.ts";

/*
 * The life of a waiting call: every change of its state.
 *
 *     waiting → answering → waiting (the next round) | settled | expired | outcome-unknown
 *     waiting → expired | withdrawn
 *
 * A call that waits for a sign-in is claimed in the same way, and sent for the first time. Its server may ask then.
 */

/** A server's questions, as an `input_required` result has them. */
export interface Question {
  readonly requests: Readonly<Record<string, InputRequest>>;
  readonly requestState?: string | undefined;
}

/** The user has to sign in first. The call was not carried out. */
export function parks(
  call: WaitingRecord,
  { now, maxAgeMs }: { readonly now: number; readonly maxAgeMs: number },
): WaitingRecord {
  return { ...call, leg: randomToken(), askedAt: now, expiresAt: now + maxAgeMs };
}

/** The server asks, for the first time or again. The questions before it, and their state, are over. */
export function asks(
  before: WaitingRecord,
  { requests, requestState }: Question,
  { now, maxAgeMs }: { readonly now: number; readonly maxAgeMs: number },
): WaitingRecord {
  const { claim: _claim, requestState: _state, ...call } = before;
  return {
    ...call,
    kind: "input",
    state: "waiting",
    round: call.round + 1,
    leg: randomToken(),
    requests,
    ...(requestState !== undefined && { requestState }),
    askedAt: now,
    expiresAt: now + maxAgeMs,
  };
}

/** A process claims the call, and sends a leg. */
export function claims(call: WaitingRecord, token: string, now: number): WaitingRecord {
  return { ...call, state: "answering", claim: { token, at: now } };
}

/**
 * The leg was not carried out, or may be carried out twice, so the call still waits, for another leg. The claim
 * stays: a leg that was given up for dead may still end.
 */
export function unclaims(claimed: WaitingRecord): WaitingRecord {
  return { ...claimed, state: "waiting", leg: randomToken() };
}

/** The server has answered. What was only for the way there is forgotten. */
export function settles(call: WaitingRecord, answer: WaitingAnswer): WaitingRecord {
  return { ...over(call, "settled"), answer };
}

/** Nobody can or shall answer any more, or nobody knows whether the last leg was carried out. */
export function over(
  before: WaitingRecord,
  state: "settled" | "expired" | "outcome-unknown" | "withdrawn",
): WaitingRecord {
  const { requestState: _, ...call } = before;
  return { ...call, state };
}

/** A graph shows the questions of the call's round in an interrupt. */
export function shows(call: WaitingRecord, shown: ShownRound): WaitingRecord {
  return { ...call, shown: [...(call.shown ?? []), shown] };
}

/** The result is in a conversation. */
export function delivers(call: WaitingRecord): WaitingRecord {
  return { ...call, isDelivered: true };
}
