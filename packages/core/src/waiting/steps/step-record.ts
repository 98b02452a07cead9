/** How a call is recorded in the step that makes it: before it is sent, when it begins to wait, or under a claim. */

import { randomToken } from "../../base/random-token.ts";
import { markUntilEnd, showLife } from "../claims/claim.ts";
import {
  createOnce,
  forget,
  keep,
  keepAnswer,
  keepNew,
  noteInClaim,
  unsent,
} from "../claims/keep-call.ts";
import type { WaitingContext } from "../claims/waiting-context.ts";
import { claims, isOpen } from "../record/waiting-life.ts";
import type { Held } from "../record/held.ts";
import {
  type CallOfStep,
  type EndedCall,
  newestVersion,
  type OpenCall,
  type WaitingAnswer,
  type WaitingRecord,
} from "../record/waiting-record.ts";
import type { StoredCall } from "../record/waiting-store.ts";

/** The record of a call in its step. */
export interface StepRecord {
  /** Whether it was written before the call is sent. */
  readonly isFirst: boolean;
  /** The call as it begins to wait. */
  readonly begin: () => Promise<OpenCall>;
  /** Writes what has become of the call. @returns the call as it is kept */
  readonly keep: (next: WaitingRecord) => Promise<WaitingRecord>;
  /** Notes how another process finds the call. */
  readonly note: (held: Held) => Promise<void>;
  /** The caller has the answer, whatever becomes of the record. */
  readonly settle: (answer: WaitingAnswer) => Promise<void>;
  /** Nobody knows whether the call was carried out. */
  readonly lose: (lost: EndedCall) => Promise<void>;
  /** The call was not carried out. */
  readonly forget: () => Promise<void>;
  /** From now on nothing shows that the step works on the call. */
  readonly stop: () => void;
}

const nothing = async (): Promise<void> => undefined;
/** Of a call whose end in the step leaves no trace. */
const untraced = { isFirst: false, note: nothing, settle: nothing, lose: nothing } as const;

/** A call gets its record when it begins to wait: one that is over within its step costs no write. */
export function recordedLate(
  context: WaitingContext,
  begin: () => Promise<CallOfStep>,
): StepRecord {
  return {
    ...{ ...untraced, begin, forget: nothing, stop: () => undefined },
    keep: async (next) => (isOpen(next) ? (await keepNew(context, next)).call : next),
  };
}

/** A call that waited for a sign-in, and is claimed: the path and the repeats stay. */
export function recordedInClaim(
  context: WaitingContext,
  claimed: StoredCall<OpenCall>,
  request: WaitingRecord["request"],
): StepRecord {
  return {
    ...{ ...untraced, forget: nothing, stop: () => undefined },
    begin: async () => ({ ...claimed.call, request }),
    keep: async (next) => await keep(context, claimed, next),
  };
}

/** How long a call whose record was written first shows that it lives, in milliseconds. */
const maxLifeMs = 300_000;

/**
 * Writes the record of a call before it is sent: a step that is killed and run again finds it.
 *
 * @returns the record of another step that makes the call, if that was first: it sends the call
 */
export async function recordFirst(
  context: WaitingContext,
  begin: () => Promise<CallOfStep>,
  limitMs: number,
): Promise<StepRecord | WaitingRecord> {
  const { calls, atEnd, now } = context;
  const begun = claims({ ...(await begin()), version: newestVersion }, randomToken(), now());
  const step = atEnd && begun.due;
  const claimed = { ...begun, ...(step && { step }) };
  const stored = await createOnce(calls, claimed).catch(unsent(claimed));
  if (stored.call !== claimed) return stored.call;
  let written: StoredCall<CallOfStep> = { ...stored, call: claimed };
  let isKept = false;
  const stop = showLife(context, claimed.id, Math.min(limitMs, maxLifeMs));
  if (step) markUntilEnd(context, step, () => isKept);
  const keepAs = async (next: WaitingRecord) => {
    stop();
    const kept = await keep(context, written, next);
    isKept = true;
    return kept;
  };
  return {
    ...{ isFirst: true, stop, keep: keepAs, lose: async (lost) => void (await keepAs(lost)) },
    begin: async () => ({ ...(await begin()), ...(step && { step }) }),
    async note(held) {
      if (written.call.held?.type !== held.type)
        written = await noteInClaim(context, written, { ...written.call, held });
    },
    async settle(answer) {
      stop();
      isKept = await keepAnswer(context, written, answer).then(
        () => true,
        () => false,
      );
    },
    forget: async () => await forget(context, written),
  };
}
