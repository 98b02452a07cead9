import { wait, within, withTimeLimit } from "../../base/bounded-wait.ts";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { pauseAfterFailureMs, sendClaimed, type Sent } from "./claim.ts";
import { upToDate } from "./current-call.ts";
import type { InputResponses } from "../questions/input-request.ts";
import { scrubAnswer, scrubOutcome } from "./scrub-answer.ts";
import type { LegOptions, LegOutcome } from "../legs/send-leg.ts";
import type { HeldWay, KeptCall } from "../legs/held-request.ts";
import { streamWay } from "../legs/stream.ts";
import { taskWay } from "../legs/task.ts";
import { watchWay } from "../legs/watch.ts";
import { saysUnheard, tellCannotWait } from "./cannot-wait.ts";
import type { WaitingContext } from "./waiting-context.ts";
import { goesOn, heldAs, isHeld, isOnServer } from "../record/waiting-life.ts";
import type { Held } from "../record/held.ts";
import { describeWaiting } from "../record/describe-waiting.ts";
import type { HeldCall, WaitingAnswer, WaitingRecord } from "../record/waiting-record.ts";
import type { StoredCall } from "../record/waiting-store.ts";

const ways: { readonly [TYPE in Held["type"]]: HeldWay<Extract<Held, { type: TYPE }>> } = {
  task: taskWay,
  stream: streamWay,
  watch: watchWay,
};
const wayOf = ({ type }: Held): HeldWay<Held> => ways[type];

/** Sees how a call is that its server keeps. Never rejects. */
const look = (call: KeptCall, leg: LegOptions) => wayOf(call.held!).look(call, call.held!, leg);

/** Answers the questions of a call that its server keeps. Never rejects. */
export const answerHeld = (
  context: WaitingContext,
  call: WaitingRecord,
  responses: InputResponses,
  leg: LegOptions,
) => wayOf(call.held!).answer(call, call.held!, responses, telling(context, call, leg));

/** Has a leg tell of answers that may be lost, and keep what a watch finds. */
function telling(
  { emit, calls: { inbox }, now }: WaitingContext,
  call: WaitingRecord,
  leg: LegOptions,
): LegOptions {
  const { tool, round } = describeWaiting(call);
  const onAnswer: LegOptions["onAnswer"] = (delivery) =>
    emit({ type: "answer-unsure", tool, round, delivery });
  return { ...leg, onAnswer, inbox, now };
}

/** How long the server is waited for that is asked to stop, in milliseconds. */
const cancelMs = 5_000;

/** Asks the server of a call to stop. Best effort, and in bounded time. */
export async function cancelHeld(
  context: WaitingContext,
  call: WaitingRecord,
  { fetch }: LegOptions,
): Promise<void> {
  const { held } = call;
  if (held === undefined) return;
  const leg = telling(context, call, { fetch, signal: withTimeLimit(cancelMs) });
  await within(cancelMs, wayOf(held).cancel(call, held, leg)).catch(() => undefined);
}

/** Whether a call is to be looked at now. */
export function isDue(call: WaitingRecord, now: number): call is HeldCall {
  return call.state === "waiting" && isHeld(call) && call.pollAfter <= now;
}

/**
 * Looks at a call that is due, under a claim.
 *
 * @returns the call as it is then, the same if it is not due, or another process looks; and why its server could not be
 *   asked
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function lookAt(
  context: WaitingContext,
  found: StoredCall,
  leg: LegOptions,
): Promise<StoredCall & Pick<Sent, "failure">> {
  const { calls, now } = context;
  const stored = await upToDate(context, found);
  const { call, revision } = stored;
  if (!isDue(call, now())) return stored;
  let failure: Sent["failure"];
  try {
    ({ failure } = await sendClaimed(context, { call, revision }, async (claimed) => {
      const onHeld = async (held: Held) =>
        void (await calls.replace(claimed, { ...claimed.call, ...heldAs(held) }));
      return await look(claimed.call, telling(context, claimed.call, { ...leg, onHeld }));
    }));
  } catch (error) {
    if (!McpSessionError.isInstance(error) || error.code !== "NOT_WAITING") throw error;
  }
  const current = await calls.read(call.id);
  // It was ended, and a look has perhaps found something since.
  const isGone = !current || current.call.state === "withdrawn";
  if (isGone && call.type === "watch") await calls.inbox?.forget(call.id);
  const next = current ?? stored;
  const { answer } = next.call;
  if (answer && saysUnheard(answer)) tellCannotWait(context, describeWaiting(call).tool, "unheard");
  return { ...next, failure };
}

/** The answer to a settled call, if only its server has it; `undefined` if it cannot be had now. Never rejects. */
export async function answerOnServer(
  { fetch, scrubFor }: Pick<WaitingContext, "fetch" | "scrubFor">,
  call: WaitingRecord,
  signal: AbortSignal | undefined,
): Promise<WaitingAnswer | undefined> {
  if (fetch === undefined || !isOnServer(call)) return undefined;
  const outcome = await look(call, { fetch, signal });
  return outcome.type === "settles" ? scrubAnswer(outcome.answer, call, scrubFor) : undefined;
}

/**
 * Follows a call in the step that has made it, without a record, until its server has something else to say, or the
 * time is up. Never rejects.
 *
 * @returns the call as it is then, and what the server has said; no outcome if the time is up
 */
export async function follow(
  context: Pick<WaitingContext, "now" | "scrubFor">,
  first: HeldCall,
  until: number,
  leg: LegOptions,
): Promise<{ readonly call: HeldCall; readonly outcome?: LegOutcome }> {
  const { now } = context;
  let call = first;
  for (;;) {
    const pauseMs = Math.max(0, call.pollAfter - now());
    // A look takes time, too.
    if (now() + pauseMs >= until) return { call };
    const isLeft = await wait(pauseMs, leg.signal).then(
      () => false,
      () => true,
    );
    if (isLeft) return { call };
    const outcome = scrubOutcome(context, call, await look(call, leg));
    // The end of the step interrupts a look, and says nothing of the call.
    if (leg.signal?.aborted) return { call };
    if (outcome.type === "not-sent") {
      call = goesOn(call, { held: call.held, pollMs: pauseAfterFailureMs }, now());
    } else if (outcome.type === "goes-on") call = goesOn(call, outcome, now());
    else return { call, outcome };
  }
}
