import { detach, startLimit } from "../../base/bounded-wait.ts";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { randomToken } from "../../base/random-token.ts";
import { mayRunTwice, readCall } from "./current-call.ts";
import { keep, keepAnswer } from "./keep-call.ts";
import { scrubOutcome } from "./scrub-answer.ts";
import type { LegOutcome } from "../legs/send-leg.ts";
import { notWaiting, tooLongToWait } from "../record/waiting-failure.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";
import type { AgentsWaiting } from "./park-call.ts";
import {
  asks,
  claims,
  goesOn,
  isHeld,
  isKeepable,
  over,
  settles,
  unclaims,
  waitsOn,
} from "../record/waiting-life.ts";
import type { HeldCall, OpenCall, WaitingAnswer, WaitingRecord } from "../record/waiting-record.ts";
import type { StoredCall } from "../record/waiting-store.ts";

/** A call after a leg. */
export interface Sent {
  readonly call: WaitingRecord;
  /** Why the call still waits, if the leg was not carried out or may be sent again. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** The outcome of a leg, that the fetch which sent it has kept that, or for what agents in a tool call wait now. */
export type ClaimedOutcome =
  | LegOutcome
  | { readonly type: "kept" }
  | ({ readonly type: "waits-on" } & AgentsWaiting);

/**
 * Claims a call for one leg, and keeps its outcome.
 *
 * @param send sends the leg, at most once. Never rejects
 * @throws {McpSessionError} `NOT_WAITING` if another process was first, and then nothing is sent; `STORE_FAILED`
 */
export async function sendClaimed<CALL extends OpenCall>(
  context: WaitingContext,
  stored: StoredCall<CALL>,
  send: (claimed: StoredCall<CALL>) => Promise<ClaimedOutcome>,
): Promise<Sent> {
  const claimed = await claim(context, stored);
  const stopSigns = showLife(context, claimed.call.id);
  try {
    return await note(context, claimed, await send(claimed));
  } finally {
    stopSigns();
  }
}

/** Shows that the process of a claim lives, until the returned function is called, or for `ms` milliseconds. */
export function showLife(
  { calls, claimMs, now }: WaitingContext,
  id: string,
  ms?: number,
): () => void {
  const signs = setInterval(() => {
    // Without a sign of life the outcome counts as unknown, which the end of the leg corrects.
    calls.touch(id, now()).catch(() => undefined);
  }, claimMs / 3);
  detach(signs);
  const stop = () => clearInterval(signs);
  if (ms !== undefined) startLimit(ms, stop, true);
  return stop;
}

/** How long a step shows that it lives, in milliseconds. One that nobody ends counts as dead then. */
const maxStepMs = 3_600_000;

/**
 * Shows that the step of a call lives, until it has ended. Its entry goes then, if the conversation has the call.
 *
 * @param isKept whether the record says what the conversation says
 */
export function markUntilEnd(
  { calls, claimMs, now, atEnd }: WaitingContext,
  step: string,
  isKept: () => boolean,
): void {
  if (!atEnd) return;
  const signs = setInterval(() => {
    calls.steps?.touch(step, now() + claimMs).catch(() => undefined);
  }, claimMs / 3);
  detach(signs);
  const stopLimit = startLimit(maxStepMs, () => clearInterval(signs), true);
  atEnd(async (isDone) => {
    clearInterval(signs);
    stopLimit();
    if (isDone && isKept()) await calls.steps?.end(step);
  });
}

/** Settles a call that is never sent, unless another process has changed it. @throws {McpSessionError} `STORE_FAILED` */
export async function settleCall(
  context: WaitingContext,
  stored: StoredCall<OpenCall>,
  answer: WaitingAnswer,
): Promise<void> {
  const next = settles(stored.call, answer);
  if ((await context.calls.replace(stored, next)) === undefined) return;
  await tellWaiting(context, next, stored.call);
}

/** Claims a call for one leg. @throws {McpSessionError} `NOT_WAITING` if another process was first */
async function claim<CALL extends OpenCall>(
  context: WaitingContext,
  stored: StoredCall<CALL>,
): Promise<StoredCall<CALL>> {
  const { calls, claimLeg, now } = context;
  const { call } = stored;
  const token = randomToken();
  let isAllowed: boolean | undefined;
  try {
    const claimed = await calls.replace(stored, claims(call, token, now()));
    if (claimed === undefined) throw notWaiting("answering");
    isAllowed = (await claimLeg?.({ key: call.leg })) ?? true;
    if (isAllowed) return claimed;
  } catch (error) {
    if (McpSessionError.isInstance(error) && error.code === "NOT_WAITING") throw error;
    // The store may have taken the claim all the same. Nothing was sent, so nobody shall wait for it.
    await takeBack(context, call, token).catch(() => undefined);
    throw error;
  }
  await takeBack(context, call, token);
  throw notWaiting("answering");
}

async function takeBack({ calls }: WaitingContext, before: WaitingRecord, token: string) {
  const current = await calls.read(before.id);
  if (current?.call.claim?.token === token) await calls.replace(current, before);
}

/** Keeps the outcome of a leg. */
async function note(
  context: WaitingContext,
  claimed: StoredCall<OpenCall>,
  given: ClaimedOutcome,
): Promise<Sent> {
  const { call } = claimed;
  const outcome = scrubOutcome(context, call, given);
  // Its server keeps what the store has not taken, and is asked again.
  const fate = call.held ? "held" : "sent";
  const end = async (next: WaitingRecord) => ({
    call: await keep(context, claimed, next, { fate }),
  });
  switch (outcome.type) {
    case "asks": {
      const { limits, now } = context;
      const at = { now: now(), ...limits };
      const { maxRounds = 10 } = limits;
      if (call.round < maxRounds) return await end(asks(call, outcome.question, at));
      const message = `The server asked for input more than ${maxRounds} times for one call.`;
      return await end(settles(call, { error: { code: -32_603, message } }));
    }
    case "settles":
      return { call: await keepAnswer(context, claimed, outcome.answer, fate) };
    case "goes-on":
      return await end(unlessTooOld(context, goesOn(call, outcome, context.now())));
    case "expired":
      return await end(over(call, "expired"));
    case "waits-on": {
      const next = waitsOn(call, outcome);
      if (isKeepable(next, context.limits.maxBytes)) return await end(next);
      return await end(settles(call, { error: { code: -32_603, message: tooLongToWait } }));
    }
    case "kept":
      return { call: (await readCall(context, call.id)).call };
    default: {
      const { held, unsure } = call;
      const isUnknown = outcome.type === "unknown" && (held || !mayRunTwice(context, call));
      if (isUnknown) return await end(over(call, "outcome-unknown"));
      const { pollMs = pauseAfterFailureMs } = { pollMs: undefined, ...outcome };
      const later = { unsure, pollMs };
      const now = context.now();
      const stays = (kept: HeldCall): HeldCall => ({
        ...goesOn(kept, { held: kept.held, ...later }, now),
        failingSince: kept.failingSince ?? now,
      });
      const next = isHeld(call) ? unlessTooOld(context, stays(call)) : unclaims(call);
      return { ...(await end(next)), failure: { error: outcome.error } };
    }
  }
}

/** After what time a call is looked at again whose server could not be asked, in milliseconds. */
export const pauseAfterFailureMs = 5_000;

/** A call that its server keeps, as long as it may wait. Whether it is carried out some day is unknown. */
function unlessTooOld({ now }: WaitingContext, call: HeldCall): WaitingRecord {
  const { held, expiresAt } = call;
  // It tells of its end.
  if (held.type === "watch") return call;
  const endsAt = held.type === "task" ? (held.endsAt ?? expiresAt) : expiresAt;
  return Math.min(expiresAt, endsAt) <= now() ? over(call, "outcome-unknown") : call;
}
