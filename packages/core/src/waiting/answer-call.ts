import { detach, wait } from "../base/bounded-wait.ts";
import { sameJson } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { randomToken } from "../base/random-token.ts";
import { checkInputResponses } from "./check-input-responses.ts";
import type { InputResponses } from "./input-request.ts";
import { type LegOptions, type LegOutcome, sendLeg } from "./send-leg.ts";
import { keptAnswer } from "./kept-answer.ts";
import { askedElsewhere } from "./waiting-failure.ts";
import { maxAgeOf, maxRoundsOf, tellWaiting, type WaitingContext } from "./waiting-context.ts";
import { asks, claims, over, settles, unclaims } from "./waiting-life.ts";
import type { WaitingRecord } from "./waiting-record.ts";
import type { StoredCall } from "./waiting-store.ts";
import type { WaitingState } from "./waiting-call.ts";

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
  const isRound = round === undefined || round === call.round;
  if (call.url !== url.href) throw askedElsewhere(call);
  if (call.state !== "waiting" || !isRound) throw notWaiting(call.state);
  if (call.expiresAt <= context.now()) return await expire(context, stored, leg);
  checkInputResponses(call.requests, responses);
  return await goOn(context, await sendClaimed(context, stored, responses, leg), leg);
}

/** The pause before a request that only repeats the server's state, in milliseconds. */
const retryMs = 1_000;

/** Goes on without a person as long as the server has no question, and only wants another request. */
export async function goOn(
  context: WaitingContext,
  call: WaitingRecord,
  leg: LegOptions,
): Promise<WaitingRecord> {
  let current = call;
  while (current.state === "waiting" && Object.keys(current.requests).length === 0) {
    await wait(retryMs, leg.signal);
    const stored = await readCall(context, call.id);
    if (stored.call.state !== "waiting") return stored.call;
    current = await sendClaimed(context, stored, {}, leg);
  }
  return current;
}

/** @throws {McpSessionError} `NOT_WAITING` for an unknown id */
export async function readCall(context: WaitingContext, id: string): Promise<StoredCall> {
  const stored = await context.calls.read(id);
  if (stored === undefined) throw notWaiting(undefined);
  return await withoutDeadClaim(context, stored);
}

/** The call, without the claim of a process that is gone: then nobody knows whether it sent its leg. */
export async function withoutDeadClaim(
  context: WaitingContext,
  stored: StoredCall,
): Promise<StoredCall> {
  const { call } = stored;
  if (call.state !== "answering") return stored;
  const { calls, claimMs, now } = context;
  const lastSign = Math.max(call.claim?.at ?? 0, (await calls.lastUse(stored)) ?? 0);
  if (now() - lastSign <= claimMs) return stored;
  const next = mayRunTwice(context, call) ? unclaims(call) : over(call, "outcome-unknown");
  const replaced = await calls.replace(stored, next);
  if (replaced === undefined) return (await calls.read(call.id)) ?? stored;
  await tellWaiting(context, next);
  return replaced;
}

function mayRunTwice({ limits: { safeTools = [] } }: WaitingContext, { request }: WaitingRecord) {
  return request.method !== "tools/call" || safeTools.includes(String(request.params["name"]));
}

/** Ends a call whose questions are too old, or starts it over. */
async function expire(
  context: WaitingContext,
  stored: StoredCall,
  leg: LegOptions,
): Promise<WaitingRecord> {
  if (context.limits.onExpired === "ask-again") {
    return await goOn(context, await sendClaimed(context, stored, undefined, leg), leg);
  }
  const next = over(stored.call, "expired");
  const replaced = await context.calls.replace(stored, next);
  if (replaced === undefined) throw notWaiting("answering");
  await tellWaiting(context, next);
  return next;
}

/** @param responses `undefined` to start the call over */
async function sendClaimed(
  context: WaitingContext,
  stored: StoredCall,
  responses: InputResponses | undefined,
  leg: LegOptions,
): Promise<WaitingRecord> {
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

/** Claims a call for one leg. @throws {McpSessionError} `NOT_WAITING` if another process was first */
async function claim(context: WaitingContext, stored: StoredCall): Promise<StoredCall> {
  const { calls, claimLeg, now } = context;
  const { call } = stored;
  const isAllowed = (await claimLeg?.({ key: call.leg })) ?? true;
  if (!isAllowed) throw notWaiting("answering");
  const token = randomToken();
  let claimed: StoredCall | undefined;
  try {
    claimed = await calls.replace(stored, claims(call, token, now()));
  } catch (error) {
    // The store may have taken the claim all the same. Nothing was sent, so nobody shall wait for it.
    const current = await calls.read(call.id).catch(() => undefined);
    if (current?.call.claim?.token === token)
      await calls.replace(current, call).catch(() => undefined);
    throw error;
  }
  if (claimed === undefined) throw notWaiting("answering");
  return claimed;
}

/** Gives signs of life as long as a leg is under way. */
function keepClaim({ calls, claimMs, now }: WaitingContext, id: string): () => void {
  const timer = setInterval(() => {
    // Without a sign of life the outcome counts as unknown, which the end of the leg corrects.
    calls.touch(id, now()).catch(() => undefined);
  }, claimMs / 3);
  detach(timer);
  return () => clearInterval(timer);
}

/** Keeps what became of a leg. */
async function note(
  context: WaitingContext,
  claimed: StoredCall,
  outcome: LegOutcome,
): Promise<WaitingRecord> {
  const { limits, now } = context;
  const { call } = claimed;
  const isSafe = mayRunTwice(context, call);
  switch (outcome.type) {
    case "asks": {
      const maxRounds = maxRoundsOf(limits);
      const next =
        call.round < maxRounds
          ? asks(call, outcome.question, { now: now(), maxAgeMs: maxAgeOf(limits) })
          : settles(call, tooManyRounds(maxRounds));
      return await keep(context, claimed, next);
    }
    case "settles":
      return await keep(context, claimed, settles(call, keptAnswer(call, outcome.answer)));
    case "expired":
      return await keep(context, claimed, over(call, "expired"));
    default:
      if (outcome.type === "unknown" && !isSafe) {
        return await keep(context, claimed, over(call, "outcome-unknown"));
      }
      await keep(context, claimed, unclaims(call));
      throw outcome.error;
  }
}

function tooManyRounds(maxRounds: number) {
  const message = `The server asked for input more than ${maxRounds} times for one call.`;
  return { error: { code: -32_603, message } };
}

/** A store may fail for a moment, and the leg cannot be sent again. */
const keepAttempts = 3;

/** Writes the end of a leg. Nobody else may have written since the claim but to give it up for dead. */
async function keep(
  context: WaitingContext,
  claimed: StoredCall,
  next: WaitingRecord,
): Promise<WaitingRecord> {
  const { calls } = context;
  const token = claimed.call.claim?.token;
  let stored = claimed;
  for (let attempt = 1; ; attempt += 1) {
    try {
      if ((await calls.replace(stored, next)) !== undefined) break;
      const current = await calls.read(next.id);
      if (sameJson(current?.call, next)) break;
      // Given up for dead by another process, or deleted with the agent session.
      const isOurs = current?.call.claim?.token === token && !current?.call.isDelivered;
      if (current === undefined || !isOurs) return current?.call ?? next;
      stored = current;
    } catch (error) {
      if (attempt === keepAttempts) throw error;
      await wait(100 * attempt);
    }
  }
  await tellWaiting(context, next);
  return next;
}

/** @param state the state of the call; `undefined` for an unknown one, or another principal's */
export function notWaiting(state: WaitingState | undefined): McpSessionError {
  const why =
    state === undefined
      ? "There is no such waiting call for this principal and agent session."
      : state === "answering"
        ? "The call is being answered, perhaps by another process. Look at the waiting calls again."
        : `The call does not wait for these answers any more (state ${state}). Look at the waiting calls again.`;
  return new McpSessionError("NOT_WAITING", `${why} Nothing was sent.`, {
    data: { ...(state !== undefined && { state }) },
  });
}
