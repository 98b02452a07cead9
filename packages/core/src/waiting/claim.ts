import { detach, tryInsistently } from "../base/bounded-wait.ts";
import { sameJson } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { randomToken } from "../base/random-token.ts";
import { notKept, notWaiting, sessionEnded } from "./waiting-failure.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";
import { claims, over } from "./waiting-life.ts";
import { parseWaitingRecord, type WaitingRecord } from "./waiting-record.ts";
import type { StoredCall } from "./waiting-store.ts";

/** Claims a call for one leg. @throws {McpSessionError} `NOT_WAITING` if another process was first */
export async function claim(context: WaitingContext, stored: StoredCall): Promise<StoredCall> {
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

/** Gives signs of life as long as a leg is under way. */
export function keepClaim({ calls, claimMs, now }: WaitingContext, id: string): () => void {
  const timer = setInterval(() => {
    // Without a sign of life the outcome counts as unknown, which the end of the leg corrects.
    calls.touch(id, now()).catch(() => undefined);
  }, claimMs / 3);
  detach(timer);
  return () => clearInterval(timer);
}

/** The states in which the end of a leg finds its call, if others gave it up for dead or not. */
const unfinished: ReadonlySet<string> = new Set(["answering", "outcome-unknown", "waiting"]);

/**
 * Writes the end of a leg, which nobody else knows, and which cannot be sent again. Nobody else may have written since
 * the claim but to give it up for dead.
 *
 * @throws {McpSessionError} `STORE_FAILED` if the store fails for `closeTimeoutMs`
 */
export async function keep(
  context: WaitingContext,
  claimed: StoredCall,
  next: WaitingRecord,
): Promise<WaitingRecord> {
  const { calls, closeTimeoutMs } = context;
  const token = claimed.call.claim?.token;
  let stored = claimed;
  /** @returns the call as it is then; `undefined` if its agent session was ended */
  const write = async (): Promise<WaitingRecord | undefined> => {
    for (;;) {
      if ((await calls.replace(stored, next)) !== undefined) return next;
      const current = await calls.read(next.id);
      // An attempt before this one has failed, and was carried out all the same.
      if (sameJson(current?.call, parseWaitingRecord(next))) return next;
      if (current === undefined || !isOurs(current, token)) return current?.call;
      stored = current;
    }
  };
  let found: WaitingRecord | undefined;
  try {
    found = await tryInsistently(closeTimeoutMs, write, isTooLong);
  } catch (error) {
    const isAnswered = next.answer !== undefined || next.round !== claimed.call.round;
    throw isAnswered && !isTooLong(error) ? notKept(next, closeTimeoutMs, error) : error;
  }
  const isGone = found === undefined;
  if (found !== undefined && found !== next) return found;
  // Nobody can answer what is not there.
  const kept = isGone && next.state === "waiting" ? over(next, "withdrawn") : next;
  await tellWaiting(context, kept, claimed.call);
  if (isGone) throw sessionEnded(kept.state);
  return kept;
}

function isTooLong(error: unknown): boolean {
  return McpSessionError.isInstance(error) && error.code === "STATE_INVALID";
}

/** Whether a call is as the claim left it, or was given up for dead since. */
function isOurs({ call }: StoredCall, token: string | undefined): boolean {
  return call.claim?.token === token && unfinished.has(call.state) && !call.isDelivered;
}
