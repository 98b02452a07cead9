import { wait } from "../../base/bounded-wait.ts";
import { connectionBroke } from "../../session/session-errors.ts";
import type { JsonRpcRequest } from "../../wire/json-rpc.ts";
import { goOn } from "../claims/answer-call.ts";
import { type CallNotes, identityOf, isStopped, repeatable } from "./call-notes.ts";
import { tellCannotWait } from "../claims/cannot-wait.ts";
import { markUntilEnd } from "../claims/claim.ts";
import {
  beginCall,
  callId,
  type CallIdentity,
  findTurn,
  isNamed,
  upToDate,
} from "../claims/current-call.ts";
import { cancelHeld, follow, lookAt } from "../claims/held-call.ts";
import { unsent } from "../claims/keep-call.ts";
import { scrubAnswer, scrubOutcome } from "../claims/scrub-answer.ts";
import { type LegOptions, type LegOutcome, readFate } from "../legs/send-leg.ts";
import { recordedInClaim, recordedLate, recordFirst, type StepRecord } from "./step-record.ts";
import { placeholderResult } from "../record/waiting-call.ts";
import type { CannotWaitEvent, WaitingContext } from "../claims/waiting-context.ts";
import { waitingFailure } from "../record/waiting-failure.ts";
import { asks, goesOn, isHeld, isOpen, over } from "../record/waiting-life.ts";
import type { Held } from "../record/held.ts";
import { describeWaiting } from "../record/describe-waiting.ts";
import type { HeldCall, WaitingAnswer, WaitingRecord } from "../record/waiting-record.ts";

interface CallParts {
  readonly url: URL;
  readonly connection: string;
  readonly message: JsonRpcRequest;
  readonly headers: Headers;
  readonly leg: LegOptions;
  readonly notes: CallNotes;
}

/** Codes of a failure in which nothing was sent, or the server has refused the call unprocessed. */
const notCarriedOut: ReadonlySet<unknown> = new Set([
  ...["CONNECTION_UNAVAILABLE", "CONNECTION_INVALID", "PRINCIPAL_REQUIRED"],
  ...["AUTHORIZATION_REQUIRED", "SESSION_LOST"],
]);

/** How long a slow answer is waited for within the step, in milliseconds. */
const defaultAfterMs = 20_000;

/**
 * Finds a call that an earlier run of its step has made, or begins it.
 *
 * @returns the call, to be sent; or what a client gets for one that was made before
 */
export async function beginInStep(
  context: WaitingContext,
  parts: CallParts,
): Promise<CallInStep | { readonly known: () => Promise<WaitingAnswer> }> {
  const { url, connection, message, headers, notes } = parts;
  const { limits, now, leaveAt = Infinity } = context;
  const { limitMs = Infinity, claimed } = notes;
  const { afterMs = defaultAfterMs } = limits;
  // Its caller shall get the placeholder before it gives the call up.
  const until = Math.min(now() + Math.min(afterMs, 0.9 * limitMs), leaveAt);
  const request = repeatable(message, headers);
  const writesFirst = limits.record === "first" && message.method === "tools/call" && !claimed;
  const identity = identityOf(connection, message, notes, writesFirst);
  const { tool } = identity;
  const begun = (record: StepRecord) => inStep(context, { ...parts, tool, request, until, record });
  if (claimed) return begun(recordedInClaim(context, claimed, request));
  const found = await findCall(context, identity).catch(unsent({ url: url.href, request }));
  const begin = async () => ({
    ...(await beginCall(context, identity, { url, request })),
    id: found.id,
  });
  let { known } = found;
  if (known === undefined) {
    if (!writesFirst || !isNamed(identity)) return begun(recordedLate(context, begin));
    const first = await recordFirst(context, begin, limitMs);
    if ("isFirst" in first) return begun(first);
    known = first;
  }
  const made = known;
  return { known: async () => await goOnInStep(context, made, until, parts) };
}

interface InStep extends CallParts, Pick<WaitingRecord, "request">, Pick<CannotWaitEvent, "tool"> {
  readonly record: StepRecord;
  /** When the step leaves the call. */
  readonly until: number;
}

/** A call in the step that makes it, until its client has an answer or a placeholder. */
export type CallInStep = ReturnType<typeof inStep>;

function inStep(context: WaitingContext, parts: InStep) {
  const { url, message, tool, leg, notes, record, request, until } = parts;
  const { limits, now, scrubFor } = context;
  const park = async (held: Held, pollMs: number, before?: HeldCall): Promise<WaitingAnswer> => {
    const call = goesOn(before ?? (await record.begin()), { held, pollMs }, now());
    return answerOf(await record.keep(call), notes);
  };
  const followed = async (begun: HeldCall): Promise<WaitingAnswer> => {
    const { call, outcome } = await follow(context, begun, until, leg);
    if (outcome) return await take(outcome, call);
    if (!isStopped(notes)) return await park(call.held, Math.max(0, call.pollAfter - now()), call);
    record.stop();
    await cancelHeld(context, call, leg);
    throw notes.stop!.reason;
  };
  const take = async (given: LegOutcome, before?: HeldCall): Promise<WaitingAnswer> => {
    const outcome = scrubOutcome(context, before ?? { request }, given);
    if (outcome.type === "settles") {
      await record.settle(outcome.answer);
      return before ? scrubAnswer(outcome.answer, before, scrubFor) : outcome.answer;
    }
    if (outcome.type === "goes-on") await record.note(outcome.held);
    const call = before ?? (await record.begin());
    if (outcome.type === "goes-on") return await followed(goesOn(call, outcome, now()));
    if (outcome.type === "asks") {
      const asked = asks(call, outcome.question, { now: now(), ...limits });
      return answerOf(await goOn(context, await record.keep(asked), leg), notes);
    }
    const lost = over(call, "outcome-unknown");
    await record.lose(lost);
    throw before || outcome.type !== "unknown" ? waitingFailure(lost) : outcome.error;
  };
  return {
    until,
    /** Whether a record was written before the call is sent. */
    isRecorded: record.isFirst,
    /** The answer to the call. A record that was written first goes again, if the call was refused. */
    async sent(sending: Promise<Response>): Promise<Response> {
      try {
        const { response, isUndone } = await readFate(await sending, message);
        if (!response.ok) record.stop();
        if (isUndone) await record.forget();
        return response;
      } catch (cause) {
        record.stop();
        const { method } = message;
        const { code } = connectionBroke({ method, url, cause }) as { code?: unknown };
        if (notCarriedOut.has(code)) await record.forget();
        throw cause;
      }
    },
    /** Notes, in a record that was written first, how another process finds the call. */
    noteHeld: record.note,
    /** Leaves the call to its server. @returns what its client gets */
    park,
    /** Keeps what the server has said, where it is not over, and follows a task. @returns what its client gets */
    take,
    /** Tells that the call takes longer than a step waits, and that its server gives no means to leave it. */
    cannotWait: (reason: CannotWaitEvent["reason"]) => tellCannotWait(context, tool, reason),
    isStopped: () => isStopped(notes),
  };
}

/** The id of a call, and its record if an earlier run of the step has made it and nobody has its result. */
async function findCall(context: WaitingContext, identity: CallIdentity) {
  if (!isNamed(identity)) return { id: await callId(identity) };
  const { id, stored } = await findTurn(context, identity, (each) => context.calls.read(each));
  return { id, known: stored && (await upToDate(context, stored)).call };
}

/** What a client gets for a call that an earlier run has made. */
async function goOnInStep(
  context: WaitingContext,
  known: WaitingRecord,
  until: number,
  { leg, notes }: CallParts,
): Promise<WaitingAnswer> {
  const { calls, now } = context;
  let isKept = false;
  if (known.step) markUntilEnd(context, known.step, () => isKept);
  let call = await goOn(context, known, leg);
  while (call.state === "waiting" && isHeld(call)) {
    const pauseMs = Math.max(0, call.pollAfter - now());
    if (now() + pauseMs >= until || leg.signal?.aborted) break;
    await wait(pauseMs, leg.signal).catch(() => undefined);
    const look = async () => {
      const stored = await calls.read(known.id);
      return stored && (await lookAt(context, stored, leg));
    };
    // A failure of the store says nothing of the call, which waits.
    const looked = await look().catch(() => undefined);
    if (looked === undefined) break;
    ({ call } = looked);
  }
  isKept = call.state !== "answering";
  return answerOf(call, notes);
}

/** What a client gets for a call that has waited, or waits: its result, its failure, or the placeholder. */
function answerOf(call: WaitingRecord, notes: CallNotes): WaitingAnswer {
  notes.onCall?.(call);
  if (call.answer !== undefined) return call.answer;
  if (!isOpen(call)) throw waitingFailure(call);
  const shown = describeWaiting(call);
  notes.onWaiting?.(shown);
  return { result: placeholderResult(shown) };
}
