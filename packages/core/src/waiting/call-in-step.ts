import { wait } from "../base/bounded-wait.ts";
import { randomToken } from "../base/random-token.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { connectionBroke } from "../session/session-errors.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import { goOn } from "./answer-call.ts";
import { type CallNotes, identityOf, repeatable } from "./call-notes.ts";
import { markUntilEnd, showLife } from "./claim.ts";
import {
  beginCall,
  callId,
  type CallIdentity,
  findTurn,
  isNamed,
  upToDate,
} from "./current-call.ts";
import { cancelHeld, follow, lookAt } from "./held-call.ts";
import { createOnce, forget, keep, keepAnswer, keepNew, noteInClaim, unsent } from "./keep-call.ts";
import { type LegOptions, type LegOutcome, readFate } from "./send-leg.ts";
import { placeholderResult } from "./waiting-call.ts";
import { tellCannotWait } from "./cannot-wait.ts";
import type { CannotWaitEvent, WaitingContext } from "./waiting-context.ts";
import { waitingFailure } from "./waiting-failure.ts";
import { asks, claims, goesOn, isHeld, over } from "./waiting-life.ts";
import { scrubAnswer, scrubOutcome } from "./scrub-answer.ts";
import {
  describeWaiting,
  type Held,
  newestVersion,
  type WaitingAnswer,
  type WaitingRecord,
} from "./waiting-record.ts";
import type { StoredCall } from "./waiting-store.ts";

/** A call in the step that makes it, until its client has an answer or a placeholder. */
export type CallInStep = Awaited<ReturnType<typeof beginInStep>>;

interface CallParts {
  readonly url: URL;
  readonly connection: string;
  readonly message: JsonRpcRequest;
  readonly headers: Headers;
  readonly leg: LegOptions;
  readonly notes: CallNotes;
}

/** How long a slow answer is waited for within the step, in milliseconds. */
const defaultAfterMs = 20_000;
/** How long a call whose record was written first shows that it lives, in milliseconds. */
const maxLifeMs = 300_000;

/** Finds a call that an earlier run of its step has made, or begins it. */
// oxlint-disable-next-line max-lines-per-function -- one call: its record, its time and its end belong together
export async function beginInStep(context: WaitingContext, parts: CallParts) {
  const { url, connection, message, headers, leg, notes } = parts;
  const { limits, now, leaveAt = Infinity } = context;
  const { limitMs = Infinity, stop } = notes;
  const isNew = message.method === "tools/call" && !notes.claimed;
  const writesFirst = limits.record === "first" && isNew;
  const identity = identityOf(connection, message, notes, writesFirst);
  const { afterMs = defaultAfterMs } = limits;
  // Its caller shall get the placeholder before it gives the call up.
  const until = Math.min(now() + Math.min(afterMs, 0.9 * limitMs), leaveAt);
  const request = repeatable(message, headers);
  const found = notes.claimed
    ? { ...notes.claimed.call, known: undefined }
    : await findCall(context, identity).catch(unsent({ url: url.href, request }));
  const { id } = found;
  let { known } = found;

  const begin = async (): Promise<WaitingRecord> => {
    // Of one that has waited for a sign-in the path and the repeats stay.
    if (notes.claimed) return { ...notes.claimed.call, request };
    const begun = await beginCall(context, "input", identity, { url, request });
    return { ...begun, id, ...(step && { step }) };
  };
  /** Whether somebody has stopped it. A process that has lost its work to another one leaves it to that one. */
  const isStopped = () =>
    stop?.aborted === true &&
    !(McpSessionError.isInstance(stop.reason) && stop.reason.code === "STATE_CONFLICT");
  /** The entry of the record that was written before the call is sent. */
  let step: string | undefined;
  /** The record that was written before the call is sent. */
  let first: StoredCall | undefined;
  let stopSigns: (() => void) | undefined;
  let isKept = false;
  if (writesFirst && isNamed(identity) && known === undefined) {
    const own = { ...(await begin()), kind: "stream", version: newestVersion } as const;
    const begun = claims(own, randomToken(), now());
    if (context.atEnd) step = begun.due;
    const claimed = { ...begun, ...(step && { step }) };
    const stored = await createOnce(context.calls, claimed).catch(unsent(claimed));
    if (stored.call === claimed) {
      first = stored;
      stopSigns = showLife(context, id, Math.min(limitMs, maxLifeMs));
      if (step) markUntilEnd(context, step, () => isKept);
      // Another step that makes it was first, and sends it.
    } else known = stored.call;
  }
  const keepAs = async (next: WaitingRecord): Promise<WaitingRecord> => {
    stopSigns?.();
    const claimed = first ?? notes.claimed;
    if (claimed) {
      const kept = await keep(context, claimed, next);
      isKept = true;
      return kept;
    }
    return next.state === "settled" ? next : (await keepNew(context, next)).call;
  };
  const noteHeld = async (held: Held): Promise<void> => {
    if (!first || first.call.held?.type === held.type) return;
    first = await noteInClaim(context, first, { ...first.call, request, held });
  };
  const park = async (held: Held, pollMs: number, before?: WaitingRecord) => {
    const call = before ?? (await begin());
    return answerOf(await keepAs(goesOn(call, { held, pollMs }, now())), notes);
  };
  const take = async (given: LegOutcome, before?: WaitingRecord): Promise<WaitingAnswer> => {
    const outcome = scrubOutcome(context, before ?? { request }, given);
    switch (outcome.type) {
      case "asks": {
        const call = before ?? (await begin());
        const at = { now: now(), ...limits };
        const asked = await keepAs(asks(call, outcome.question, at));
        return answerOf(await goOn(context, asked, leg), notes);
      }
      case "settles":
        stopSigns?.();
        // Its caller has the answer, whatever becomes of the record.
        if (first)
          isKept = await keepAnswer(context, first, outcome.answer).then(
            () => true,
            () => false,
          );
        return before ? scrubAnswer(outcome.answer, before, context.scrubFor) : outcome.answer;
      case "goes-on": {
        await noteHeld(outcome.held);
        const begun = goesOn(before ?? (await begin()), outcome, now());
        const followed = await follow(context, begun, until, leg);
        const { call } = followed;
        if (followed.outcome) return await take(followed.outcome, call);
        if (isStopped()) {
          stopSigns?.();
          await cancelHeld(call, leg);
          throw stop!.reason;
        }
        return await park(call.held!, Math.max(0, call.pollAfter! - now()), call);
      }
      default: {
        const lost = over(before ?? (await begin()), "outcome-unknown");
        if (first) await keepAs(lost);
        throw before || outcome.type !== "unknown" ? waitingFailure(lost) : outcome.error;
      }
    }
  };
  return {
    until,
    isKnown: known !== undefined,
    /** Whether a record was written before the call is sent. */
    isRecorded: first !== undefined,
    /** The answer to the call. A record that was written first goes again, if the call was refused. */
    async sent(sending: Promise<Response>): Promise<Response> {
      try {
        const { response, isUndone } = await readFate(await sending, message);
        if (!response.ok) stopSigns?.();
        if (first && isUndone) await forget(context, first);
        return response;
      } catch (cause) {
        stopSigns?.();
        const { method } = message;
        const { code } = connectionBroke({ method, url, cause }) as { code?: unknown };
        if (first && code === "CONNECTION_UNAVAILABLE") await forget(context, first);
        throw cause;
      }
    },
    /** Notes, in a record that was written first, how another process finds the call. */
    noteHeld,
    /** Leaves the call to its server. @returns what its client gets */
    park,
    /** Keeps what the server has said, where it is not over, and follows a task. @returns what its client gets */
    take,
    /** What a client gets for a call that an earlier run has made. */
    async goOn(): Promise<WaitingAnswer> {
      ({ step } = known!);
      if (step) markUntilEnd(context, step, () => isKept);
      let call = await goOn(context, known!, leg);
      while (call.state === "waiting" && isHeld(call)) {
        const pauseMs = Math.max(0, call.pollAfter! - now());
        if (now() + pauseMs >= until || leg.signal?.aborted) break;
        await wait(pauseMs, leg.signal).catch(() => undefined);
        // A failure of the store says nothing of the call, which waits.
        const looked = await lookAgain(context, id, leg).catch(() => undefined);
        if (looked === undefined) break;
        ({ call } = looked);
      }
      isKept = call.state !== "answering";
      return answerOf(call, notes);
    },
    /** Tells that the call takes longer than a step waits, and that its server gives no means to leave it. */
    cannotWait(reason: CannotWaitEvent["reason"]) {
      tellCannotWait(context, identity.tool, reason);
    },
    isStopped,
  };
}

/** The id of a call, and its record if an earlier run of the step has made it and nobody has its result. */
async function findCall(context: WaitingContext, identity: CallIdentity) {
  if (!isNamed(identity)) return { id: await callId(identity, 0) };
  const { id, stored } = await findTurn(context, identity, (each) => context.calls.read(each));
  return { id, known: stored && (await upToDate(context, stored)).call };
}

async function lookAgain(context: WaitingContext, id: string, leg: LegOptions) {
  const stored = await context.calls.read(id);
  return stored && (await lookAt(context, stored, leg));
}

/** What a client gets for a call that has waited, or waits: its result, its failure, or the placeholder. */
function answerOf(call: WaitingRecord, notes: CallNotes): WaitingAnswer {
  notes.onCall?.(call);
  if (call.answer !== undefined) return call.answer;
  if (call.state !== "waiting" && call.state !== "answering") throw waitingFailure(call);
  const shown = describeWaiting(call);
  notes.onWaiting?.(shown);
  return { result: placeholderResult(shown) };
}
