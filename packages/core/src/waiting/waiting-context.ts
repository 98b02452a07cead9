import {
  checkFunction,
  checkText,
  checkWhole,
  type OptionChecks,
  oneOf,
} from "../base/check-option.ts";
import { within } from "../base/bounded-wait.ts";
import { guarded } from "../base/observe.ts";
import { describeWaiting, type WaitingRecord } from "./waiting-record.ts";
import type { WaitingCall, WaitingState } from "./waiting-call.ts";
import type { WaitingStore } from "./waiting-store.ts";

/** How calls wait. */
export interface WaitingLimits {
  /** How old questions may get, in milliseconds, before they expire here. @default 604800000 (7 days) */
  readonly maxAgeMs?: number | undefined;
  /**
   * What happens to questions that have expired, here or for the server (`invalid_request_state`). `"fail"`: the
   * call ends as `expired`. `"ask-again"`: the next answer makes the call start over, and the server asks anew.
   * An old answer is never used again. @default "fail"
   */
  readonly onExpired?: "fail" | "ask-again" | undefined;
  /**
   * Tools, by the server's names, that may run twice: after an answer whose outcome is unknown, the questions
   * wait again. @default none
   */
  readonly safeTools?: readonly string[] | undefined;
  /**
   * Gets each call whose server asks something, for a mail or a push message. The call waits for it, as long as the
   * end of a run may take (10 seconds by default). Its errors are dropped, with a warning on the console.
   */
  readonly onWaiting?: ((call: WaitingCall) => void | Promise<void>) | undefined;
}

/** Tells of a waiting call, without its id. */
export interface WaitingEvent {
  readonly type: "waiting-call";
  /** The server's name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  /** Counts the server's questions, from 1; 0 before the first. */
  readonly round: number;
  /** The new state of the call. */
  readonly state: WaitingState;
}

export const waitingLimitChecks: OptionChecks<WaitingLimits> = {
  maxAgeMs: (value, field) => checkWhole(value, field, 1),
  onExpired: oneOf("fail", "ask-again"),
  safeTools(value, field) {
    if (!Array.isArray(value)) checkText(undefined, field);
    for (const [index, tool] of (value as unknown[]).entries())
      checkText(tool, `${field}[${index}]`);
  },
  onWaiting: checkFunction,
};

/**
 * Allows a leg. It must return `true` once for each `key`, whichever process asks: such as an insert into a table in
 * which the key is unique.
 */
export type ClaimLeg = (leg: { readonly key: string }) => boolean | Promise<boolean>;

/** What the parts of waiting calls share. */
export interface WaitingContext {
  readonly calls: WaitingStore;
  readonly limits: WaitingLimits & { readonly maxAgeMs: number };
  /** For a store that does not compare and set across processes. */
  readonly claimLeg?: ClaimLeg | undefined;
  /** How long a claim lasts without a sign of life of its process, in milliseconds. */
  readonly claimMs: number;
  /** How long the end of a leg may take: to keep its outcome, and to tell `onWaiting`. In milliseconds. */
  readonly closeTimeoutMs: number;
  readonly emit: (event: WaitingEvent) => void;
  /** Takes what a connection sends for itself, such as its token, out of a server's errors. */
  readonly scrub?: ((text: string) => string) | undefined;
  readonly now: () => number;
}

/** The parts of a context that have a default. */
export function createWaitingContext(
  calls: WaitingStore,
  {
    onEvent,
    now,
    claimLeg,
    claimMs = 60_000,
    closeTimeoutMs = 10_000,
    scrub,
    maxAgeMs = 604_800_000,
    ...limits
  }: WaitingLimits &
    Pick<WaitingContext, "now" | "claimLeg" | "scrub"> & {
      readonly onEvent?: ((event: WaitingEvent) => void) | undefined;
      readonly claimMs?: number | undefined;
      readonly closeTimeoutMs?: number | undefined;
    },
): WaitingContext {
  const own = { ...limits, maxAgeMs };
  return {
    calls,
    limits: own,
    claimLeg,
    claimMs,
    closeTimeoutMs,
    emit: guarded(onEvent),
    scrub,
    now,
  };
}

/**
 * Tells of the state that a call has now; of new questions, to `onWaiting` too.
 *
 * @param before the call until now; `undefined` for a new one
 */
export async function tellWaiting(
  { emit, closeTimeoutMs, limits: { onWaiting } }: WaitingContext,
  record: WaitingRecord,
  before?: WaitingRecord,
): Promise<void> {
  const call = describeWaiting(record);
  const { tool, round, state } = call;
  emit({ type: "waiting-call", tool, round, state });
  // After an answer that was not sent, the same questions wait again.
  const isNew = state === "waiting" && round !== before?.round;
  // Some servers only want another request, which needs no person.
  const isAsked = isNew && Object.keys(call.requests).length > 0;
  if (!isAsked || onWaiting === undefined) return;
  const telling = (async () => onWaiting(call))();
  if (await within(closeTimeoutMs, telling).catch(() => false)) return;
  console.warn(
    `onWaiting failed, or took longer than ${closeTimeoutMs} ms. The call waits all the same; show it with the list of waiting calls.`,
  );
}
