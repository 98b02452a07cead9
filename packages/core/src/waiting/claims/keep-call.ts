/** What a process writes about a call that only it knows: until the store takes it. */

import { tryInsistently } from "../../base/bounded-wait.ts";
import { sameJson } from "../../base/json-values.ts";
import { McpSessionError } from "../../base/mcp-session-error.ts";
import { isTooLong } from "../../stores/store-arguments.ts";
import { ordered } from "./current-call.ts";
import { type CallFate, notKept, sessionEnded } from "../record/waiting-failure.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";
import { over, settles, settlesLost } from "../record/waiting-life.ts";
import { scrubAnswer } from "./scrub-answer.ts";
import { describeWaiting } from "../record/describe-waiting.ts";
import type { OpenCall, WaitingAnswer, WaitingRecord } from "../record/waiting-record.ts";
import type { CreationTries, StoredCall, WaitingStore } from "../record/waiting-store.ts";

/** Whether an error comes however often it is tried: the store does not take the record. */
const isFinal = (error: unknown) =>
  McpSessionError.isInstance(error) && error.code !== "STORE_FAILED";

/**
 * Tries a write of a call for `closeTimeoutMs`. It is tried again after a failure of which nobody knows whether it was
 * done, so it reads first, or does the same twice.
 *
 * @throws {McpSessionError} what became of the call, as far as it is known; an event has the same
 */
export async function insist<T>(
  { closeTimeoutMs, emit }: WaitingContext,
  call: WaitingRecord,
  write: () => Promise<T>,
  fate: CallFate = "sent",
): Promise<T> {
  try {
    return await tryInsistently(closeTimeoutMs, write, isFinal);
  } catch (cause) {
    if (McpSessionError.isInstance(cause) && cause.code === "NOT_WAITING") throw cause;
    const error = notKept(call, fate, cause);
    const { code, message, data } = error;
    const told = new McpSessionError(code, message, { data });
    emit({
      type: "store-failed",
      operation: "keep",
      tool: describeWaiting(call).tool,
      error: told,
    });
    throw error;
  }
}

/** Tells of a failure of the store before a call is sent. */
export const unsent =
  (call: Pick<WaitingRecord, "url" | "request">) =>
  (error: unknown): never => {
    throw isFinal(error) || !McpSessionError.isInstance(error)
      ? error
      : notKept(call, "not-sent", error);
  };

/**
 * Creates a record, unless it is there. After a failure it is read: an own leg means that it was done.
 *
 * @returns the stored one, the same `call` if it is ours, or another process's in its place
 */
export async function createOnce(
  calls: WaitingStore,
  call: WaitingRecord,
  tries?: CreationTries,
): Promise<StoredCall> {
  const stored = await calls.create(call, tries).catch(async (error: unknown) => {
    if (isFinal(error)) throw error;
    const current = await calls.read(call.id).catch(() => undefined);
    if (current === undefined) throw error;
    return current;
  });
  return stored.call.leg === call.leg ? { ...stored, call } : stored;
}

/** Keeps a new call that was sent, and tells of it. @returns as `createOnce` */
export async function keepNew(context: WaitingContext, call: WaitingRecord): Promise<StoredCall> {
  const tries = {};
  const stored = await insist(context, call, () => createOnce(context.calls, call, tries));
  if (stored.call === call) await tellWaiting(context, call);
  return stored;
}

/** Takes a record away whose call was refused. If the store stays away, an event says so: the refusal is told. */
export async function forget(context: WaitingContext, stored: StoredCall): Promise<void> {
  const remove = () => context.calls.remove(stored);
  await insist(context, stored.call, remove, "refused").catch(() => undefined);
}

/** The states in which the end of a leg finds its call, if others gave it up for dead or not. */
const unfinished: ReadonlySet<string> = new Set(["answering", "outcome-unknown", "waiting"]);

/** Whether a call is as the claim left it, or was given up for dead since. */
function isOurs({ call }: StoredCall, token: string | undefined): boolean {
  return call.claim?.token === token && unfinished.has(call.state) && !call.isDelivered;
}

/** What else is to be known of a write. */
interface KeepOptions {
  /** Takes the place of a record that is too long for the store. */
  readonly shorter?: WaitingRecord | undefined;
  /** @default "sent" */
  readonly fate?: CallFate | undefined;
}

/** @returns the record as it is then, `call` the same as `next` or `shorter` if ours was written; `undefined` if it is gone */
async function replaceClaimed(
  context: WaitingContext,
  claimed: StoredCall,
  given: WaitingRecord,
  { shorter, fate }: KeepOptions = {},
): Promise<StoredCall | undefined> {
  const { calls } = context;
  const token = claimed.call.claim?.token;
  let stored = claimed;
  let next = given;
  const write = async (): Promise<StoredCall | undefined> => {
    for (;;) {
      const replaced = await calls.replace(stored, next).catch((error: unknown) => {
        // Encrypted, or in another store, a record can be too long that was short enough before.
        if (shorter === undefined || next === shorter || !isTooLong(error)) throw error;
        next = shorter;
        return calls.replace(stored, next);
      });
      if (replaced !== undefined) return replaced;
      const current = await calls.read(next.id);
      // An attempt before this one has failed, and was carried out all the same.
      if (current && sameJson(ordered(current.call), ordered(next)))
        return { ...current, call: next };
      if (current === undefined || !isOurs(current, token)) return current;
      stored = current;
    }
  };
  return await insist(context, claimed.call, write, fate);
}

/** Notes something in a claimed record whose call goes on. If the store stays away, an event says so. */
export async function noteInClaim<CALL extends WaitingRecord>(
  context: WaitingContext,
  claimed: StoredCall<CALL>,
  next: CALL,
): Promise<StoredCall<CALL>> {
  const noted = await replaceClaimed(context, claimed, next).catch(() => undefined);
  return noted?.call === next ? { ...noted, call: next } : claimed;
}

/**
 * Writes the end of a leg, which nobody else knows, and which cannot be sent again. Nobody else may have written since
 * the claim but to give it up for dead.
 *
 * @throws {McpSessionError} `OUTCOME_UNKNOWN` if the store fails for `closeTimeoutMs`; `STORE_FAILED` if it is a look
 */
export async function keep(
  context: WaitingContext,
  claimed: StoredCall,
  next: WaitingRecord,
  options: KeepOptions = {},
): Promise<WaitingRecord> {
  const found = (await replaceClaimed(context, claimed, next, options))?.call;
  const isGone = found === undefined;
  if (!isGone && found !== next && found !== options.shorter) return found;
  const written = found ?? next;
  // Nobody can answer what is not there.
  const kept = isGone && next.state === "waiting" ? over(next, "withdrawn") : written;
  await tellWaiting(context, kept, claimed.call);
  if (isGone) throw sessionEnded(kept.state);
  return kept;
}

/** Keeps what the server has answered to a claimed call. */
export async function keepAnswer(
  context: WaitingContext,
  claimed: StoredCall<OpenCall>,
  given: WaitingAnswer,
  fate?: CallFate,
): Promise<WaitingRecord> {
  const answer = scrubAnswer(given, claimed.call, context.scrubFor);
  const shorter = settlesLost(claimed.call, answer);
  return await keep(context, claimed, settles(claimed.call, answer), { shorter, fate });
}
