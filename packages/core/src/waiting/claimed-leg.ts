import { McpSessionError } from "../base/mcp-session-error.ts";
import { claim, keep, keepClaim } from "./claim.ts";
import { mayRunTwice, readCall } from "./current-call.ts";
import type { LegOutcome } from "./send-leg.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";
import { asks, over, scrubAnswer, settles, settlesLost, unclaims } from "./waiting-life.ts";
import type { WaitingAnswer, WaitingRecord } from "./waiting-record.ts";
import type { StoredCall } from "./waiting-store.ts";

/** A call after a leg. */
export interface Sent {
  readonly call: WaitingRecord;
  /** Why the call still waits, if the leg was not carried out or may be sent again. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** What became of a leg, or that the fetch which sent it has kept that. */
export type ClaimedOutcome = LegOutcome | { readonly type: "kept" };

/**
 * Claims a call for one leg, and keeps what becomes of it.
 *
 * @param send sends the leg, at most once. Never rejects
 * @throws {McpSessionError} `NOT_WAITING` if another process was first, and then nothing is sent; `STORE_FAILED`
 */
export async function sendClaimed(
  context: WaitingContext,
  stored: StoredCall,
  send: (claimed: StoredCall) => Promise<ClaimedOutcome>,
): Promise<Sent> {
  const claimed = await claim(context, stored);
  const stop = keepClaim(context, claimed.call.id);
  try {
    return await note(context, claimed, await send(claimed));
  } finally {
    stop();
  }
}

/** Settles a call that is never sent, unless another process has changed it. @throws {McpSessionError} `STORE_FAILED` */
export async function settleCall(
  context: WaitingContext,
  stored: StoredCall,
  answer: WaitingAnswer,
): Promise<void> {
  const next = settles(stored.call, answer);
  if ((await context.calls.replace(stored, next)) === undefined) return;
  await tellWaiting(context, next, stored.call);
}

/** How often a server may ask for one call. */
const maxRounds = 10;

/** Keeps what became of a leg. */
async function note(
  context: WaitingContext,
  claimed: StoredCall,
  outcome: ClaimedOutcome,
): Promise<Sent> {
  const { call } = claimed;
  const end = async (next: WaitingRecord) => ({ call: await keep(context, claimed, next) });
  switch (outcome.type) {
    case "asks": {
      const { limits, now } = context;
      const at = { now: now(), maxAgeMs: limits.maxAgeMs };
      if (call.round < maxRounds) return await end(asks(call, outcome.question, at));
      const message = `The server asked for input more than ${maxRounds} times for one call.`;
      return await end(settles(call, { error: { code: -32_603, message } }));
    }
    case "settles":
      return { call: await keepAnswer(context, claimed, outcome.answer) };
    case "expired":
      return await end(over(call, "expired"));
    case "kept":
      return { call: (await readCall(context, call.id)).call };
    default: {
      const isUnknown = outcome.type === "unknown" && !mayRunTwice(context, call);
      if (isUnknown) return await end(over(call, "outcome-unknown"));
      return { ...(await end(unclaims(call))), failure: { error: outcome.error } };
    }
  }
}

async function keepAnswer(context: WaitingContext, claimed: StoredCall, given: WaitingAnswer) {
  const answer = scrubAnswer(given, claimed.call, context.scrub);
  try {
    return await keep(context, claimed, settles(claimed.call, answer));
  } catch (error) {
    if (!McpSessionError.isInstance(error) || error.code !== "STATE_INVALID") throw error;
    // Encrypted, a record can be too long that was short enough before.
    return await keep(context, claimed, settlesLost(claimed.call, answer));
  }
}
