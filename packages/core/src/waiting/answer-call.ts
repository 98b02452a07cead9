import { wait } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { checkInputResponses } from "./check-input-responses.ts";
import { claim, keep, keepClaim } from "./claim.ts";
import { mayRunTwice, readCall } from "./current-call.ts";
import type { InputResponses } from "./input-request.ts";
import { asksBounded, settlesBounded, settlesLost } from "./kept-answer.ts";
import { scrubAnswer } from "./scrub-answer.ts";
import { type LegOptions, type LegOutcome, sendLeg } from "./send-leg.ts";
import { askedElsewhere, notWaiting } from "./waiting-failure.ts";
import { maxAgeOf, maxRoundsOf, type WaitingContext } from "./waiting-context.ts";
import { asks, over, type Question, settles, unclaims } from "./waiting-life.ts";
import type { WaitingAnswer, WaitingRecord } from "./waiting-record.ts";
import type { StoredCall } from "./waiting-store.ts";

export interface AnswerOptions extends LegOptions {
  /** Where answers may go: questions of another URL are refused. */
  readonly url: URL;
  /** The round that the answers are for: answers to earlier questions are refused. @default any */
  readonly round?: number | undefined;
}

/**
 * Answers a waiting call: claims it, and sends one leg, at most once.
 *
 * @returns the call as it is then
 * @throws {McpSessionError} `NOT_WAITING`, `INPUT_INVALID`, `STORE_FAILED`; `CONNECTION_UNAVAILABLE` or the code
 *   that says why, if the leg was certainly not carried out, and the questions still wait
 */
export async function answerCall(
  context: WaitingContext,
  id: string,
  responses: InputResponses,
  { round, url, ...leg }: AnswerOptions,
): Promise<WaitingRecord> {
  const stored = await readCall(context, id);
  const { call } = stored;
  if (call.url !== url.href) throw askedElsewhere(call);
  // Whoever noticed it first: all late answers are told the same.
  if (call.state === "expired") return call;
  const isRound = round === undefined || round === call.round;
  if (call.state !== "waiting" || !isRound) throw notWaiting(call.state);
  const isExpired = call.expiresAt <= context.now();
  if (!isExpired) checkInputResponses(call.requests, responses);
  const sent = await sendClaimed(context, stored, isExpired ? undefined : responses, leg);
  if (sent.failure !== undefined) throw sent.failure.error;
  return await goOn(context, sent.call, leg);
}

/** The pause before a request that only repeats the server's state, in milliseconds. */
const retryMs = 1_000;

/**
 * Goes on without a person as long as the server has no question, and only wants another request. If that fails,
 * the call waits without a question, and an answer without members goes on.
 */
export async function goOn(
  context: WaitingContext,
  call: WaitingRecord,
  leg: LegOptions,
): Promise<WaitingRecord> {
  let current = call;
  while (wantsRequest(current)) {
    const isLeft = await wait(retryMs, leg.signal).then(
      () => false,
      () => true,
    );
    if (isLeft) return current;
    const stored = await readCall(context, call.id);
    if (!wantsRequest(stored.call)) return stored.call;
    try {
      const sent = await sendClaimed(context, stored, {}, leg);
      if (sent.failure !== undefined) return sent.call;
      current = sent.call;
    } catch (error) {
      if (!McpSessionError.isInstance(error) || error.code !== "NOT_WAITING") throw error;
      // Another process goes on.
      return (await readCall(context, call.id)).call;
    }
  }
  return current;
}

function wantsRequest({ state, requests }: WaitingRecord): boolean {
  return state === "waiting" && Object.keys(requests).length === 0;
}

interface Sent {
  readonly call: WaitingRecord;
  /** Why the questions still wait, if the leg was not carried out or may be sent again. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** @param responses `undefined` to start the call over */
async function sendClaimed(
  context: WaitingContext,
  stored: StoredCall,
  responses: InputResponses | undefined,
  leg: LegOptions,
): Promise<Sent> {
  const claimed = await claim(context, stored);
  const stop = keepClaim(context, claimed.call.id);
  try {
    let outcome = await sendLeg(claimed.call, responses, leg);
    const isOver = outcome.type === "expired" && responses !== undefined;
    if (isOver && context.limits.onExpired === "ask-again") {
      outcome = await sendLeg(claimed.call, undefined, leg);
    }
    return await note(context, claimed, outcome);
  } finally {
    stop();
  }
}

/** Keeps what became of a leg. */
async function note(
  context: WaitingContext,
  claimed: StoredCall,
  outcome: LegOutcome,
): Promise<Sent> {
  const { call } = claimed;
  const end = async (next: WaitingRecord) => ({ call: await keep(context, claimed, next) });
  switch (outcome.type) {
    case "asks":
      return await end(nextRound(context, call, outcome.question));
    case "settles":
      return { call: await keepAnswer(context, claimed, outcome.answer) };
    case "expired":
      return await end(over(call, "expired"));
    default: {
      const isUnknown = outcome.type === "unknown" && !mayRunTwice(context, call);
      if (isUnknown) return await end(over(call, "outcome-unknown"));
      return { ...(await end(unclaims(call))), failure: { error: outcome.error } };
    }
  }
}

function nextRound({ limits, now }: WaitingContext, call: WaitingRecord, question: Question) {
  const maxRounds = maxRoundsOf(limits);
  if (call.round < maxRounds) {
    return asksBounded(call, asks(call, question, { now: now(), maxAgeMs: maxAgeOf(limits) }));
  }
  const message = `The server asked for input more than ${maxRounds} times for one call.`;
  return settles(call, { error: { code: -32_603, message } });
}

async function keepAnswer(context: WaitingContext, claimed: StoredCall, given: WaitingAnswer) {
  const answer = scrubAnswer(given, claimed.call, context.scrub);
  try {
    return await keep(context, claimed, settlesBounded(claimed.call, answer));
  } catch (error) {
    if (!McpSessionError.isInstance(error) || error.code !== "STATE_INVALID") throw error;
    // Encrypted, a record can be too long that was short enough before.
    return await keep(context, claimed, settlesLost(claimed.call, answer));
  }
}
